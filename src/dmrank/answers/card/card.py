"""A model card, to be read by people (Markdown) and by machines (JSON)."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmrank.answers.card.front_matter import front_matter
from dmrank.answers.card.page import page
from dmrank.support.errors import ConfigError
from dmrank.support.files import atomic_path


@dataclass(frozen=True, eq=False)
class Card:
    """What is known of a model, and what is not; see `Model.card`.

    Attributes
    ----------
    name : str
        What the model is called.
    facts : dict
        Everything that the card tells, as plain values.
    license : str or None
        The license of the model, as hubs abbreviate it.

    Examples
    --------
    >>> import dmrank
    >>> split = dmrank.make_ratings(50, 20, 500, seed=1).ratings.split()
    >>> card = dmrank.ItemMean().fit(split.train, validation=split.validation).card(name="Means")
    >>> card.facts["training"]["ratings"], card.facts["validation"]["metric"]
    (350, 'ndcg@10')
    >>> print(card.to_markdown()[:42])
    ---
    library_name: "dmrank"
    tags:
    - "recomm
    """

    name: str
    facts: dict[str, Any]
    license: str | None = None

    def to_markdown(self) -> str:
        """Return the card as Markdown, with a head that model hubs read."""
        return front_matter(self.facts, self.name, self.license) + page(self.facts, self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values.

        Examples
        --------
        >>> import dmrank
        >>> model = dmrank.ItemMean().fit(dmrank.make_ratings(50, 20, 500, seed=1).ratings)
        >>> list(model.card().to_dict())[:3]
        ['name', 'license', 'model']
        """
        return {"name": self.name, "license": self.license, **self.facts}

    def to_json(self) -> str:
        """Return the card as JSON.

        Examples
        --------
        >>> import dmrank
        >>> model = dmrank.ItemMean().fit(dmrank.make_ratings(50, 20, 500, seed=1).ratings)
        >>> json.loads(model.card().to_json())["model"]
        'ItemMean'
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the card whole or not at all, as Markdown (.md) or JSON (.json).

        Examples
        --------
        >>> import tempfile
        >>> import dmrank
        >>> model = dmrank.ItemMean().fit(dmrank.make_ratings(50, 20, 500, seed=1).ratings)
        >>> model.card().write(Path(tempfile.mkdtemp()) / "README.md").name
        'README.md'
        """
        target = check_card_path(path)
        text = self.to_markdown() if target.suffix == ".md" else self.to_json() + "\n"
        with atomic_path(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return target

    def _repr_markdown_(self) -> str:
        return page(self.facts, self.name)


def card_path(model: Path) -> Path:
    """Return where the card of a model file is, beside it.

    Examples
    --------
    >>> card_path(Path("models/hotels.dmrank")).as_posix()
    'models/hotels.md'
    """
    return model.with_suffix(".md")


def check_card_path(path: str | os.PathLike[str]) -> Path:
    """Refuse a file that is neither Markdown nor JSON."""
    target = Path(path)
    if target.suffix not in (".md", ".json"):
        raise ConfigError(f"{target}: cards are Markdown or JSON, so name a .md or .json file")
    return target
