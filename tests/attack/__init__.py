"""The attack that stays: hostile inputs, and one rule for all of them.

Whatever is given, the answer is right or it is a `DmrankError` in one line. `python -m
tests.attack` runs as many cases as it is told to; docs/reliability.md has the commands and what
they found.
"""
