"""Compiling ahead: afterwards nothing is left to compile."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

USE = """
import dmrank
from dmrank.compiled.announcing import announcer
split = dmrank.make_ratings(50, 20, 800, seed=1).ratings.split(seed=1)
model = dmrank.ItemMean().fit(split.train, validation=split.validation)
model.save("model.dmrank")
user, item = split.train.users[0], split.train.items[0]
for each in (model, dmrank.load("model.dmrank")):
    each.recommend(user, by="all")
    each.compare(user, item, split.train.items[1])
    each.fold_in(split.test.to_polars()).recommend(user)
print(announcer.functions)
"""


def _run(*arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )


def test_after_a_warm_up_nothing_is_compiled(tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    warm_up = ("-m", "dmrank", "warm-up", "--model", "itemmean")
    first = _run(*warm_up, folder=tmp_path, **cache)
    assert "compiling, once" in first.stderr
    assert "functions" in first.stderr
    assert _run("-c", USE, folder=tmp_path, **cache).stdout == "0\n"
    again = _run(*warm_up, folder=tmp_path, **cache)
    assert again.stderr == "all was compiled before\n"


READ_ONLY = """
import numba.core.caching as caching
from dmrank.compiled import caching as ours

for locator in (caching.InTreeCacheLocator, caching.UserWideCacheLocator):
    locator.from_function = classmethod(lambda cls, *_: None)
import dmrank
print(len(dmrank.make_ratings(20, 10, 100, seed=1).ratings) > 0)
"""


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="owners of folders are those of POSIX")
@pytest.mark.parametrize("writable", [True, False])
def test_without_a_cache_code_is_compiled_all_the_same(tmp_path: Path, writable: bool) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    folder = temporary / f"dmrank-compiled-{os.getuid()}"
    if not writable:
        folder.write_text("somebody else's")
    done = _run("-c", READ_ONLY, folder=tmp_path, TMPDIR=str(temporary), NUMBA_CACHE_DIR="")
    assert done.stdout == "True\n"
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
    assert ("is kept in" in done.stderr) == writable
    assert bool(writable and list(folder.rglob("*.nbi"))) == writable


def test_a_folder_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / f"dmrank-compiled-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    done = _run("-c", READ_ONLY, folder=tmp_path, TMPDIR=str(tmp_path), NUMBA_CACHE_DIR="")
    assert "is not kept" in done.stderr
    assert not list(folder.iterdir())
