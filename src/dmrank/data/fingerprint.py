"""A short name of the content of ratings."""

from __future__ import annotations

import hashlib

from dmrank.data.ratings import Ratings


def fingerprint(ratings: Ratings) -> str:
    """Return a short name of the content of ratings: aspects, scale, who rated what, and how.

    Ids count by their order alone, so that pseudonyms that keep the order keep the name.

    Examples
    --------
    >>> ratings = Ratings.from_arrays(["ann"], ["Ritz"], [[5]], aspects=["overall"])
    >>> fingerprint(ratings)
    'f8a03db88fc718c9'
    """
    digest = hashlib.sha256(repr((ratings.aspects, ratings.scale.tolist())).encode())
    ratings.update_digest(digest)
    return digest.hexdigest()[:16]
