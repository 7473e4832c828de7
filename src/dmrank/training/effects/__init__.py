"""Training by expectation maximisation: crossed effects of users and items."""
