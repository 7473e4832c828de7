"""A model card as a page of Markdown: a heading per question of a reader."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dmrank.support.terminal import printable

#: What Markdown or HTML would obey in a cell of a table.
_ESCAPED = str.maketrans({char: f"\\{char}" for char in "\\|`*_[]<>"})


def page(facts: Mapping[str, Any], name: str) -> str:
    """Return the body of a card."""
    parts = [
        _head(facts, name),
        _training(facts),
        _validation(facts),
        _served_badly(facts),
        _calibration(facts),
        _parameters(facts),
        _loading(facts),
        _not_known(facts),
    ]
    return "\n".join(line for part in parts for line in part)


def _head(facts: Mapping[str, Any], name: str) -> Iterator[str]:
    library = facts["library"]
    yield f"# {_plain(name)}"
    yield ""
    yield f"{_plain(facts['model'])}: {printable(facts['summary'])}"
    fitted = library["fitted_with"]
    by = "a version that did not say which" if fitted is None else f"version {_plain(fitted)}"
    yield f"Fitted by dmrank, {by}; this card was written by version {library['described_with']}."
    yield ""


def _training(facts: Mapping[str, Any]) -> Iterator[str]:
    training = facts["training"]
    yield "## What it was trained on"
    yield ""
    yield (
        f"{training['ratings']:,} rating vectors of {training['items']:,} items by "
        f"{training['users']:,} users, on {len(training['aspects'])} aspects; lists are ranked by "
        f"{_plain(training['primary_aspect'])} unless asked otherwise."
    )
    yield ""
    yield from _table(
        ("aspect", "scale", "missing"),
        (
            (_plain(one["aspect"]), _scale(one), _percent(one["missing"]))
            for one in training["aspects"]
        ),
    )
    yield ""
    if training["fingerprint"] is not None:
        yield f"- Fingerprint of the ratings: {_code(training['fingerprint'])}"
    if training["first_rating"] is not None:
        ends = _plain(training["first_rating"]), _plain(training["last_rating"])
        yield f"- First and last rating: {ends[0]} and {ends[1]}"
    if training["iterations"] is not None:
        yield f"- Iterations: {training['iterations']:,}"
    if training["stopped"] is not None:
        yield f"- Training ended early: {_plain(training['stopped'])}"
    folded = facts["folded_in"]
    if folded is not None and any(folded.values()):
        yield (
            f"- Since then {folded['ratings']:,} ratings, {folded['users']:,} users and "
            f"{folded['items']:,} items were folded in, without training again"
        )
    yield ""


def _validation(facts: Mapping[str, Any]) -> Iterator[str]:
    validation = facts["validation"]
    yield "## How well it ranks"
    yield ""
    if validation is None or validation["value"] is None:
        yield "Not known: see the end of this card."
    else:
        yield (
            f"{_plain(validation['metric'])} of {validation['value']:.4f} by "
            f"{_plain(validation['by'])}, full ranking of {validation['users']:,} validation "
            "users. Training stopped, or weights were chosen, by these ratings: on others it is "
            "likely to be lower. `dmrank evaluate` measures it on test ratings."
        )
    yield ""


def _served_badly(facts: Mapping[str, Any]) -> Iterator[str]:
    coverage, validation = facts["coverage"], facts["validation"]
    yield "## Whom it serves badly"
    yield ""
    values = {} if validation is None else {one["group"]: one for one in validation["groups"]}
    columns = ["training ratings of a user", "users", "share"]
    columns += [f"validation {_plain(validation['metric'])}", "of users"] if values else []
    yield from _table(
        columns,
        (
            (
                one["group"],
                f"{one['users']:,}",
                _percent(one["share"]),
                *_group_cells(values, one["group"]),
            )
            for one in facts["activity"]
        ),
    )
    yield ""
    rest = "; the others are never shown to them" if coverage["share"] < 1 else ""
    yield (
        f"Lists of {coverage['places']} for {coverage['users']:,} users name "
        f"{coverage['listed']:,} of {coverage['items']:,} items "
        f"({_percent(coverage['share'])}){rest}. A user or an item without a training rating is "
        "not served at all until it is folded in."
    )
    yield ""


def _group_cells(values: Mapping[str, Mapping[str, Any]], group: str) -> tuple[str, ...]:
    if not values:
        return ()
    one = values.get(group, {"value": None, "users": 0})
    return ("–" if one["value"] is None else f"{one['value']:.4f}", f"{one['users']:,}")


def _calibration(facts: Mapping[str, Any]) -> Iterator[str]:
    calibration = facts["calibration"]
    yield "## Calibration"
    yield ""
    if calibration["scores_are_ratings"]:
        yield "Its scores are ratings on the scale 1 to 5, which need none."
    else:
        yield (
            "A predicted rating, on the scale 1 to 5, is intercept + slope × score + an offset of "
            f"the user (deviation {_short(calibration['user_offset_deviation'])})."
        )
        yield ""
        yield from _table(
            ("aspect", "intercept", "slope"),
            (
                (_plain(one["aspect"]), _short(one["intercept"]), _short(one["slope"]))
                for one in calibration["aspects"]
            ),
        )
    yield ""
    yield (
        "Covariances are multiplied by "
        f"{_short(calibration['covariance_factor'])} for the spread of ratings, and by "
        f"{_short(calibration['order_factor'])} for the probability of an order."
    )
    yield ""


def _parameters(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "## Parameters"
    yield ""
    rows = ((_code(name), _code(value)) for name, value in facts["parameters"].items())
    yield from _table(("parameter", "value"), rows)
    yield ""


def _loading(facts: Mapping[str, Any]) -> Iterator[str]:
    file = json.dumps(facts["file"] or "model.dmrank", ensure_ascii=False)
    yield "## How to load it"
    yield ""
    yield "```python"
    yield "import dmrank"
    yield ""
    yield f"model = dmrank.load({printable(file)})"
    yield f"model.recommend(model.users[0], n=10, by={facts['training']['primary_aspect']!r})"
    yield "```"
    yield ""


def _not_known(facts: Mapping[str, Any]) -> Iterator[str]:
    yield "## What this card cannot know"
    yield ""
    for sentence in facts["not_known"]:
        yield f"- {sentence}"
    yield ""


def _table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    names = list(columns)
    yield f"| {' | '.join(names)} |"
    yield f"|---|{'---:|' * (len(names) - 1)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _plain(text: str) -> str:
    """Return a name as it is read, whatever Markdown or a terminal would make of it."""
    return printable(text).translate(_ESCAPED)


def _code(value: object) -> str:
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"`{printable(shown).replace('`', '′').replace('|', '∣')}`"


def _scale(one: Mapping[str, Any]) -> str:
    return f"{_short(one['low'])} to {_short(one['high'])}"


def _short(value: float | None) -> str:
    return "not known" if value is None else f"{value:.4g}"


def _percent(share: float | None) -> str:
    return "not known" if share is None else f"{share:.1%}"
