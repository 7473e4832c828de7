"""From words about aspects to sentiments, and from sentiments to ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
from scipy.special import expit, logit

from dmrank.compiled.compiling import cached
from dmrank.support.arrays import Float32s, Floats, Int32s, Int64s
from dmrank.support.errors import ConfigError, did_you_mean
from dmrank.text.polarity import Polarity
from dmrank.text.reading import Reading

Mapping = Literal["shrunk", "efm"]

#: So much evidence moves a rating half of the way from the review's own rating.
PRIOR_EVIDENCE: Final = 2.5
#: How far, in log-odds, one unit of sentiment moves a rating at full evidence.
_STEP: Final = 3.0
#: Keeps the lowest and highest star off the ends of the log-odds.
_MARGIN: Final = 0.25
#: Stars are coarse: a little of the text's tone tells a high four from a low one.
_TONE_IN_OVERALL: Final = 0.1


@dataclass(frozen=True)
class Scores:
    """What a number of texts say, per text and aspect.

    Attributes
    ----------
    mentions : int32 array, rows × K
        How often words that name the aspect occur.
    total, evidence : float64 array, rows × K
        Summed polarity of the words about an aspect, and how much evidence they are.
    tone : float64 array, rows
        The overall rating that the text alone suggests, in stars from 1 to 5.
    """

    mentions: Int32s
    total: Floats
    evidence: Floats
    tone: Floats

    @property
    def sentiment(self) -> Floats:
        """The mean polarity about each aspect, from −1 to 1; NaN where it is not mentioned."""
        mean = self.total / np.maximum(self.evidence, 1e-9)
        return np.where(self.mentions > 0, np.clip(mean, -1.0, 1.0), np.nan)


def score(reading: Reading, polarity: Polarity) -> Scores:
    """Add up what the words of a reading say about each aspect, and overall."""
    links, rows, aspects = reading.links, len(reading), len(polarity.roles.aspects)
    cell = links.row.astype(np.int64) * aspects + links.aspect
    by_word = links.feature.astype(np.int64) * aspects + links.aspect
    shape = (rows, aspects)

    def add(values: Float32s) -> Floats:
        return np.bincount(cell, values, rows * aspects).astype(np.float64).reshape(shape)

    names = polarity.roles.aspect[links.feature >> 1] >= 0
    return Scores(
        np.bincount(cell[names], minlength=rows * aspects).reshape(shape).astype(np.int32),
        add(polarity.weights.ravel()[by_word] * links.strength * links.intensity),
        add(polarity.evidence.ravel()[by_word] * links.strength),
        predict_tone(reading, polarity),
    )


def predict_tone(reading: Reading, polarity: Polarity) -> Floats:
    """Predict the overall rating of each text, in stars from 1 to 5."""
    row, feature = distinct_features(reading, len(polarity.tone))
    rows = len(reading)
    count = np.bincount(row, minlength=rows)
    total = np.bincount(row, polarity.tone[feature], rows)
    return np.clip(polarity.mean_stars + total / np.sqrt(count + 1.0), 1.0, 5.0)


def distinct_features(reading: Reading, size: int) -> tuple[Int32s, Int32s]:
    """Return the features that each text has, each once per text."""
    seen = np.full(size, -1, dtype=np.int32)
    row, feature = np.empty_like(reading.features), np.empty_like(reading.features)
    count = _distinct(reading.features, reading.codes.pointer, seen, row, feature)
    return row[:count], feature[:count]


def rate(
    scores: Scores,
    polarity: Polarity,
    overall: Floats | None = None,
    *,
    mapping: Mapping = "shrunk",
    fill: bool = False,
) -> Floats:
    """Map what is said about each aspect to stars from 1 to 5.

    Parameters
    ----------
    scores : Scores
        What the texts say.
    polarity : Polarity
        What they were scored with.
    overall : float array, optional
        The review's own overall rating in stars, NaN where there is none; without one the tone of
        the text takes its place.
    mapping : {"shrunk", "efm"}
        ``shrunk``: in log-odds, the overall rating plus the mean polarity beyond the usual,
        weighted by evidence e as e / (e + 2.5). ``efm``: 1 + 4 / (1 + exp(−n s)) for n mentions of
        mean sentiment s, as in EFM; the overall rating is not used.
    fill : bool
        Whether an aspect that is not mentioned gets what the overall rating suggests, instead of
        NaN.
    """
    if mapping not in get_args(Mapping):
        hint = did_you_mean(str(mapping), get_args(Mapping))
        raise ConfigError(f"mapping {mapping!r} is not known; {hint}")
    mentioned = scores.mentions > 0
    if mapping == "efm":
        stars = 1.0 + 4.0 * expit(scores.mentions * np.where(mentioned, scores.sentiment, 0.0))
        return stars if fill else np.where(mentioned, stars, np.nan)
    anchor = scores.tone
    if overall is not None:
        own = overall + _TONE_IN_OVERALL * (scores.tone - overall)
        anchor = np.where(np.isnan(own), scores.tone, own)
    base = logit((anchor - 1.0 + _MARGIN) / (4.0 + 2 * _MARGIN))
    beyond = scores.total - scores.evidence * polarity.mean_weight
    stars = 1.0 + 4.0 * expit(base[:, None] + _STEP * beyond / (scores.evidence + PRIOR_EVIDENCE))
    return stars if fill else np.where(mentioned, stars, np.nan)


@cached
def _distinct(
    features: Int32s,
    pointer: Int64s,
    seen: Int32s,
    row: Int32s,
    feature: Int32s,
) -> int:
    count = 0
    for r in range(len(pointer) - 1):
        for token in range(pointer[r], pointer[r + 1]):
            f = features[token]
            if f >= 0 and seen[f] != r:
                seen[f] = r
                row[count], feature[count] = r, f
                count += 1
    return count
