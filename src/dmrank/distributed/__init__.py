"""The same work on many machines: blocks that any engine can run, and Ray that runs them."""

from dmrank.distributed.blocks import fold_in_block, list_block
from dmrank.evaluation.blocks import evaluate_block
from dmrank.text.blocks import extract_block

__all__ = ["evaluate_block", "extract_block", "fold_in_block", "list_block"]
