"""Why an item is recommended: the aspects that go with the ranking, and what speaks for it."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dmrank.data.ids import Id
from dmrank.fitted.catalogue import Catalogue
from dmrank.fitted.contract import By, FittedModel
from dmrank.support.arrays import Codes, Float32s, Floats
from dmrank.support.errors import ConfigError, DataError, UnsupportedError, did_you_mean
from dmrank.support.shown import html

#: The sentence of the paper (4.5); callers bring their own for other languages.
TEMPLATES = {"en": "We recommend {item} to you, because you may like its aspects of {aspects}."}
#: What stands between aspects if a template does not say.
_AND = " and "
#: What a template may name.
FIELDS = ("user", "item", "by", "aspects", "first", "second")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why an item is recommended to a user.

    Attributes
    ----------
    user, item : str or int
        Ids.
    by : str
        What is ranked by.
    table : polars.DataFrame
        One row per other aspect, the most relevant first: aspect, relevance, item_mean and
        item_ratings (of the item on that aspect in training), user_mean and user_ratings (by this
        user on it). Null where nothing is known.
    sentence : str
        The template, filled in.
    """

    user: Id
    item: Id
    by: str
    table: pl.DataFrame
    sentence: str

    def _repr_html_(self) -> str:
        return html(self.sentence, self.table, digits=2)

    def __repr__(self) -> str:
        width = max(len(name) for name in (*self.table["aspect"], "aspect"))
        head = f"  {'aspect':{width}}  relevance  item's mean  your mean"
        lines = [self.sentence, "", head]
        for row in self.table.iter_rows(named=True):
            relevance = _number(row["relevance"])
            of_item = _of(row["item_mean"], row["item_ratings"])
            of_user = _of(row["user_mean"], row["user_ratings"])
            lines.append(f"  {row['aspect']:{width}}  {relevance:>9}  {of_item:>11}  {of_user:>9}")
        return "\n".join(lines)


def explain(
    model: FittedModel,
    user: Id,
    item: Id,
    by: By,
    *,
    template: str | None,
    language: str,
    names: Mapping[str, str] | None,
) -> Explanation:
    """Say which aspects speak for an item; see `Model.explain`."""
    catalogue = model.catalogue
    u, i = catalogue.users.code(user), catalogue.items.code(item)
    weights = model.weights(by)
    if len(catalogue.aspects) == 1:
        raise DataError("the ratings have one aspect: there is no other to explain it with")
    relevance = _relevance(model, np.array([u]), np.array([i]), weights)[0]
    others = np.flatnonzero(weights == 0)
    if np.isnan(relevance[others]).all():
        raise UnsupportedError(
            f"{type(model).__name__} knows of no aspect that matters beside those ranked by"
        )
    # NaN sorts last.
    order = others[np.argsort(-relevance[others], kind="stable")]
    known = [catalogue.aspects[k] for k in order if not np.isnan(relevance[k])]
    ranked_by = _describe(weights, catalogue.aspects)
    return Explanation(
        user=catalogue.users[u],
        item=catalogue.items[i],
        by=ranked_by,
        table=_evidence_table(catalogue, u, i, order, relevance),
        sentence=fill_template(
            template,
            language,
            user=str(user),
            item=catalogue.item_name(i),
            by=ranked_by,
            aspects=[(names or {}).get(name, name.replace("_", " ")) for name in known[:2]],
        ),
    )


def _relevance(model: FittedModel, users: Codes, items: Codes, weights: Float32s) -> Floats:
    """Return the relevance of each aspect, averaged over the aspects that rank."""
    total = np.zeros((len(users), len(weights)))
    for aspect in np.flatnonzero(weights):
        relevance = model.aspect_relevance(users, items, int(aspect))
        if relevance is None:
            raise UnsupportedError(
                f"{type(model).__name__} cannot say which aspects matter for a ranking: "
                "explain with MixedEffects, DMR, MTER or EFM"
            )
        total += weights[aspect] / weights.sum() * relevance
    return total


def _evidence_table(
    catalogue: Catalogue, user: int, item: int, aspects: Codes, relevance: Floats
) -> pl.DataFrame:
    nothing = [None] * len(aspects)
    of_item: tuple[Any, Any] = (nothing, nothing)
    of_user = of_item
    if (evidence := catalogue.evidence) is not None:
        of_item = evidence.item_means[item, aspects], evidence.item_counts[item, aspects]
        of_user = evidence.user_means[user, aspects], evidence.user_counts[user, aspects]
    columns = {
        "relevance": (relevance[aspects], pl.Float64),
        "item_mean": (of_item[0], pl.Float64),
        "item_ratings": (of_item[1], pl.Int64),
        "user_mean": (of_user[0], pl.Float64),
        "user_ratings": (of_user[1], pl.Int64),
    }
    return pl.DataFrame(
        [
            pl.Series("aspect", [catalogue.aspects[k] for k in aspects]),
            *(
                pl.Series(name, list(values), dtype=kind, strict=False, nan_to_null=True)
                for name, (values, kind) in columns.items()
            ),
        ]
    ).with_columns(pl.selectors.float().fill_nan(None))


def fill_template(
    template: str | None, language: str, *, user: str, item: str, by: str, aspects: list[str]
) -> str:
    """Fill the sentence in, and say what is wrong with a template that cannot be.

    Examples
    --------
    >>> fill_template(None, "en", user="ann", item="Ritz", by="overall", aspects=["rooms"])
    'We recommend Ritz to you, because you may like its aspects of rooms.'
    >>> fill_template(
    ...     "{item}: {aspects: und }", "de", user="ann", item="Ritz", by="overall",
    ...     aspects=["Zimmer", "Lage"],
    ... )
    'Ritz: Zimmer und Lage'
    """
    if template is None:
        if language not in TEMPLATES:
            raise ConfigError(
                f"there is no sentence in language {language!r}: give one with template=…, such as "
                "'… {item} … {first} … {second} …'"
            )
        template = TEMPLATES[language]
    fields = {"user": user, "item": item, "by": by, "aspects": _Joined(aspects)}
    fields |= dict(zip(("first", "second"), aspects, strict=False))
    try:
        for _, name, _, _ in string.Formatter().parse(template):
            if name is not None and name not in fields:
                raise ConfigError(_bad_field(name))
        return template.format(**fields)
    except ValueError as error:
        raise ConfigError(f"template {template!r} cannot be filled in: {error}") from None


class _Joined(list[str]):
    """Aspects that a template joins with its own words, as in ``{aspects: und }``."""

    def __format__(self, between: str) -> str:
        return (between or _AND).join(self)

    def __str__(self) -> str:
        return format(self)


def _bad_field(name: str) -> str:
    if name in FIELDS:
        return f"template names {{{name}}}, but there is only one other aspect: leave it out"
    hint = did_you_mean(name, FIELDS)
    return f"template names {{{name}}}, which is not known; {hint}"


def _describe(weights: Float32s, aspects: tuple[str, ...]) -> str:
    ranking = np.flatnonzero(weights)
    if len(ranking) == 1:
        return aspects[ranking[0]]
    return " + ".join(f"{weights[k]:g} {aspects[k]}" for k in ranking)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _of(mean: float | None, count: int | None) -> str:
    return "–" if mean is None else f"{mean:.2f} ({count})"
