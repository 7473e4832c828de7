"""The service beside other services, under load."""
