"""Tuning, and the experiments of the paper: one file per table or figure."""

from dmrank.experiments.paper import run_paper

__all__ = ["run_paper"]
