"""What a fitted model can be asked: one file per question."""
