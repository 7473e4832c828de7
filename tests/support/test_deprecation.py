"""How public names go (docs/project/versions.md)."""

import importlib
import pkgutil
import warnings

import pytest

import dmrank
from dmrank.support.deprecation import DEPRECATED, Deprecation, deprecated
from dmrank.support.version import __version__


@pytest.fixture
def suggest():
    """A function that was deprecated; what is known of it is forgotten afterwards."""
    before = list(DEPRECATED)

    @deprecated(since="0.2.0", gone="0.4.0", use="recommend")
    def suggest(n: int, *, by: str = "overall") -> str:
        """Suggest items."""
        return f"{n} by {by}"

    yield suggest
    DEPRECATED[:] = before


def test_a_deprecated_name_works_and_names_what_takes_its_place(suggest) -> None:
    with pytest.warns(DeprecationWarning, match=r"gone in 0\.4\.0: use recommend") as caught:
        assert suggest(3, by="value") == "3 by value"
    assert caught[0].filename == __file__


def test_it_says_so_where_editors_and_the_reference_look(suggest) -> None:
    assert "use recommend" in suggest.__deprecated__
    assert ".. deprecated:: 0.2.0" in suggest.__doc__
    assert suggest.__doc__.startswith("Suggest items.")


@pytest.mark.parametrize(
    ("gone", "version", "overdue"),
    [("0.4.0", "0.3.9", False), ("0.4.0", "0.4.0", True), ("0.10.0", "0.9.0", False),
     ("1.0.0", "1.0.1", True)],
)  # fmt: skip
def test_a_name_is_overdue_from_the_version_on_in_which_it_goes(gone, version, overdue) -> None:
    assert Deprecation("old", "0.2.0", gone, "new").is_overdue(version) is overdue


@pytest.mark.parametrize(
    ("since", "gone", "patient"),
    [("0.2.0", "0.3.0", False), ("0.2.0", "0.4.0", True), ("0.9.0", "1.0.0", True)],
)
def test_two_minor_versions_are_patience(since, gone, patient) -> None:
    assert Deprecation("old", since, gone, "new").is_patient() is patient


def test_no_name_of_ours_is_overdue_or_goes_too_soon() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in pkgutil.walk_packages(dmrank.__path__, "dmrank."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    assert [str(one) for one in DEPRECATED if one.is_overdue(__version__)] == []
    assert [str(one) for one in DEPRECATED if not one.is_patient()] == []
