"""The snippets of docs/evaluation.md run as they stand, one after the other."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "evaluation.md"


@pytest.mark.filterwarnings("default")  # what implicit warns of is its own
def test_the_snippets_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    run = 0
    for block in blocks:
        if "from implicit" in block and find_spec("implicit") is None:
            continue  # `make peers` has it
        exec(block, names)
        run += 1
    assert run >= 6
    assert 0 < names["new_users"].mean("MixedEffects", "ndcg@10") < 1
    assert names["report"].significance("ndcg@10")[0].best == "popular"
