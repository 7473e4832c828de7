"""Compiled code is never stale, and has the same bits fresh and from the cache."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import dmrank

PACKAGE = Path(dmrank.__file__).parent

RANK = """
from dmrank.ranking import top_n
print(top_n([[1.0]], [[1.0], [2.0]], 1, [0, 0], []).items[0, 0])
"""
EVALUATE = """
import numpy as np
from dmrank.directional import Gaussian, Student
from dmrank.directional.batches import evaluate
rng = np.random.default_rng(0)
d, mean, root = rng.normal(size=(50, 5)), rng.normal(size=(50, 5)), rng.normal(size=(50, 5, 5))
covariance = root @ root.swapaxes(1, 2) + np.eye(5)
for family in (Gaussian(margin=0.2), Student(degrees_of_freedom=4.0)):
    for array in evaluate(d, mean, covariance, family):
        print(array.tobytes().hex())
"""


def _run(code: str, package: Path, cache: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _written(cache: Path) -> dict[Path, int]:
    return {file: file.stat().st_mtime_ns for file in cache.rglob("*.nb?")}


def test_a_change_in_another_file_is_compiled(tmp_path: Path) -> None:
    copy, cache = tmp_path / "dmrank", tmp_path / "cache"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert _run(RANK, copy, cache) == "1\n"
    written = _written(cache)
    assert written
    assert _run(RANK, copy, cache) == "1\n"
    assert _written(cache) == written

    callee = copy / "ranking" / "scoring.py"
    source = callee.read_text(encoding="utf-8")
    turned = source.replace("scores[j] = scores[j] + u0 * v0[j]\n", "scores[j] -= u0 * v0[j]\n")
    assert turned != source
    callee.write_text(turned, encoding="utf-8")
    assert _run(RANK, copy, cache) == "0\n"


def test_a_type_that_was_renamed_leaves_no_cache_that_cannot_be_read(tmp_path: Path) -> None:
    copy, cache = tmp_path / "dmrank", tmp_path / "cache"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    assert _run(RANK, copy, cache) == "1\n"
    for file in copy.rglob("*.py"):
        source = file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"\b(ItemLists|TopN)\b", r"New\1", source), encoding="utf-8")
    assert _run(RANK, copy, cache) == "1\n"


def test_code_from_the_cache_has_the_bits_of_code_just_compiled(tmp_path: Path) -> None:
    fresh = _run(EVALUATE, PACKAGE, tmp_path)
    written = _written(tmp_path)
    assert written
    assert _run(EVALUATE, PACKAGE, tmp_path) == fresh
    assert _written(tmp_path) == written


def test_imports_are_absolute_so_that_the_fingerprint_follows_them() -> None:
    relative = re.compile(r"^\s*from \.", re.MULTILINE)
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert [path for path, source in sources.items() if relative.search(source)] == []
