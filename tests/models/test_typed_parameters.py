"""Type checkers know the parameters of every model."""

from pathlib import Path

import pytest

import dmrank
from dmrank.models import MODELS

api = pytest.importorskip("mypy.api")
COMPOSITE = ("Blend", "Hurdle")
ROOT = Path(__file__).parents[2]


def test_a_misspelt_or_mistyped_parameter_is_refused_by_mypy(tmp_path: Path, monkeypatch) -> None:
    names = sorted(kind.__name__ for kind in MODELS.values())
    lines = ["import dmrank"]
    for name in names:
        lines += [
            f"dmrank.{name}(sead=3)",
            f"dmrank.{name}(seed='three')",
            f"{name.lower()}: dmrank.{name} = dmrank.{name}(seed=3, threads=None)",
        ]
    lines += [
        "dmrank.Blend(members=['EASE', dmrank.IALS()])",
        "dmrank.Hurdle(ease={'dropout': 0.2})",
    ]
    lines += [f"dmrank.Blend({name.lower()}={{}})" for name in names if name not in COMPOSITE]
    snippet = tmp_path / "snippet.py"
    snippet.write_text("\n".join(lines))
    monkeypatch.setenv("MYPYPATH", str(Path(dmrank.__file__).parents[1]))
    # The cache of `make test`, which has checked the types before.
    options = ["--config-file", str(ROOT / "pyproject.toml")]
    out, errors, _ = api.run([*options, "--cache-dir", str(ROOT / ".mypy_cache"), str(snippet)])
    assert not errors
    said = [line.split("error: ", 1)[1] for line in out.splitlines() if "error: " in line]
    expected = []
    for name in names:
        expected += [
            f'Unexpected keyword argument "sead" for "{name}"  [call-arg]',
            f'Argument "seed" to "{name}" has incompatible type "str"; expected "int"  [arg-type]',
        ]
    assert [line.replace('; did you mean "seed"?', "") for line in said] == expected
