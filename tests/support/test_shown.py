"""What notebooks show: tables that are safe to show, pictures, and a bar."""

import contextvars
import sys
import types
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest

import dmrank
from dmrank.support import notebook
from dmrank.support.plots import figure
from dmrank.support.progress import bar


class Cells(HTMLParser):
    """The text of every cell, and every tag."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.cells: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.cells.append(data)


@pytest.fixture(scope="module")
def split() -> dmrank.Split:
    return dmrank.make_ratings(30, 12, 300, seed=1).ratings.split(seed=1)


@pytest.fixture(scope="module")
def model(split: dmrank.Split) -> dmrank.Model:
    return dmrank.MixedEffects(iterations=5).fit(split.train)


def test_ids_are_text_and_never_markup() -> None:
    ratings = dmrank.Ratings.from_arrays(
        ["<script>alert(1)</script>"], ["a & b"], [[4.0]], aspects=["<b>"]
    )
    shown = Cells(ratings._repr_html_())
    assert shown.tags == {"p", "table", "tr", "th", "td"}
    assert {"<script>alert(1)</script>", "a & b", "<b>", "4.0"} <= set(shown.cells)


def test_ids_that_are_numbers_have_no_commas_between_thousands() -> None:
    ratings = dmrank.Ratings.from_arrays([1234567], [89101112], [[4.0]], aspects=["r"])
    assert {"1234567", "89101112"} <= set(Cells(ratings._repr_html_()).cells)


def test_results_show_their_numbers(split: dmrank.Split, model: dmrank.Model) -> None:
    report = dmrank.evaluate({"mixed": model}, split, metrics=["ndcg@10"])
    value = f"{report.mean('mixed', 'ndcg@10'):.4f}"
    assert value in repr(report)
    assert value in Cells(report._repr_html_()).cells
    user, first, second = split.train.users[0], split.train.items[0], split.train.items[1]
    compared, explained = model.compare(user, first, second), model.explain(user, first)
    assert set(split.train.aspects) <= set(Cells(compared._repr_html_()).cells)
    assert explained.sentence in Cells(explained._repr_html_()).cells
    assert f"{len(split.train):,}" in Cells(split._repr_html_()).cells
    statistics = dmrank.describe(split.train)
    assert f"{statistics.mean[0]:.2f}" in repr(statistics)
    assert f"{statistics.mean[0]:.2f}" in Cells(statistics._repr_html_()).cells


def test_a_model_shows_its_parameters_and_what_it_knows(model: dmrank.Model) -> None:
    shown = Cells(model._repr_html_()).cells
    assert shown[0] == "MixedEffects(iterations=5), fitted on 30 users × 12 items × 8 aspects"
    assert shown[shown.index("iterations") + 1] == "5"
    assert "not fitted" in model.clone()._repr_html_()


def test_a_figure_shows_itself() -> None:
    with figure(2, 2) as drawn:
        drawn.subplots()
    assert drawn._repr_png_().startswith(b"\x89PNG")


def test_pictures_are_drawn_where_they_are_wanted(split: dmrank.Split, model: dmrank.Model) -> None:
    user, first, second = split.train.users[0], split.train.items[0], split.train.items[1]
    with figure(9, 3) as drawn:
        panels = drawn.subplots(1, 3)
    assert model.plot_profile(user, first, ax=panels[0]) is drawn
    assert model.plot_correlation(user, ax=panels[1]) is drawn
    assert model.plot_comparison(user, first, second, ax=panels[2]) is drawn
    assert all(axes.get_title(loc="left") or axes.get_title() for axes in panels)


class FakeNotebook:
    """What IPython gives a kernel, as far as bars use it."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def modules(self) -> dict[str, types.ModuleType]:
        display = types.ModuleType("IPython.display")
        display.HTML = str
        display.display = lambda html, display_id: self.update(html)
        package = types.ModuleType("IPython")
        package.get_ipython = lambda: types.SimpleNamespace(kernel=object())
        package.display = display
        return {"IPython": package, "IPython.display": display}

    def update(self, html: str) -> "FakeNotebook":
        self.shown.append(html)
        return self


def test_a_notebook_has_a_bar_while_work_goes_on(monkeypatch) -> None:
    fake = FakeNotebook()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(notebook, "_BETWEEN", 0.0)
    with bar("counting <b>", total=4) as progress, bar("within", total=2) as inner:
        inner.update(1)
        progress.update(1, note="a & b")
    assert len(fake.shown) == 3
    assert "counting &lt;b&gt;" in fake.shown[0]
    assert 'value="1" max="4"' in fake.shown[1]
    assert "left a &amp; b" in fake.shown[1]
    assert fake.shown[2] == ""


def test_a_bar_may_end_in_another_context_than_it_began_in(monkeypatch) -> None:
    """As one does in a generator that a thread of Polars draws from."""
    for name, module in FakeNotebook().modules().items():
        monkeypatch.setitem(sys.modules, name, module)

    def work() -> Iterator[int]:
        with bar("counting", total=1):
            yield 1

    working = work()
    assert contextvars.copy_context().run(next, working) == 1
    with pytest.raises(StopIteration):
        contextvars.copy_context().run(next, working)
