"""A snippet that fails is named by its page and line."""

import traceback
from pathlib import Path

import pytest

from tests.docs import pages

PAGE = """# A page

```python
first = 1
second = first / 0
```

    dmrank stats nothing.csv
"""


@pytest.fixture(autouse=True)
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")


def test_python_is_named_by_the_line_that_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        pages.run_page("page.md", tmp_path, print, {})
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == ("page.md", 5)
    assert caught.value.__notes__ == ["in the snippet at page.md:4"]


def test_a_command_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE.replace("/ 0", "/ 1"), encoding="utf-8")

    def refuse(words: list[str]) -> None:
        raise ValueError(words[1])

    with pytest.raises(ValueError, match="stats") as caught:
        pages.run_page("page.md", tmp_path, refuse, {})
    assert caught.value.__notes__ == ["in the snippet at page.md:8"]
