"""What EFM explains: how much users attend to aspects, and how good items are at them.

A user who rated aspect k t times attends to it by X_uk = 1 + (N−1)(2/(1+e^−t) − 1), N being the top
of the scale; the quality Y_ik of an item is its mean rating, or 1 + (N−1)/(1+e^(−n s)) of n ratings
with the mean s on a scale from −1 to 1 (Zhang et al., SIGIR 2014).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import expit

from dmrank.support.arrays import Array, Codes, Float32s, Floats
from dmrank.training.data import TrainingData
from dmrank.training.least_squares.multiplicative import Tables, make_table, observed_table

#: N, the top of the training scale, and its middle.
TOP, MIDDLE = 5.0, 3.0

Quality = Literal["mean", "sentiment"]


def make_tables(data: TrainingData, primary: int, quality: Quality) -> Tables:
    """Return A, X and Y of training ratings whose overall aspect is column `primary`."""
    users, items = len(data.user_ptr) - 1, len(data.item_counts)
    overall = data.values[:, primary]
    rated = np.flatnonzero(~np.isnan(overall))
    others = np.delete(data.values, primary, axis=1)
    return Tables(
        ratings=make_table(
            data.row_users[rated], data.items[rated], overall[rated], (users, items)
        ),
        attention=observed_table(attention_scores(data.row_users, others, users)),
        quality=observed_table(quality_scores(data.items, others, items, quality)),
    )


def attention_scores(users: Codes, values: Float32s, n_users: int) -> Floats:
    """Return X, NaN where a user has never rated an aspect.

    Examples
    --------
    >>> attention_scores(np.array([0, 0, 1]), np.array([[4], [2], [np.nan]]), n_users=2).round(3)
    array([[4.046],
           [  nan]])
    """
    mentions = _sums(users, ~np.isnan(values), n_users)
    scores = 1 + (TOP - 1) * (2 * expit(mentions) - 1)
    return np.where(mentions > 0, scores, np.nan)


def quality_scores(items: Codes, values: Float32s, n_items: int, quality: Quality) -> Floats:
    """Return Y, NaN where an aspect of an item has never been rated.

    Examples
    --------
    >>> items, values = np.array([0, 0, 1]), np.array([[4], [5], [np.nan]])
    >>> quality_scores(items, values, n_items=2, quality="mean")
    array([[4.5],
           [nan]])
    >>> quality_scores(items, values, n_items=2, quality="sentiment").round(3)
    array([[4.27],
           [ nan]])
    """
    mentions = _sums(items, ~np.isnan(values), n_items)
    means = _sums(items, np.nan_to_num(values), n_items) / np.maximum(mentions, 1)
    if quality == "sentiment":
        sentiment = (means - MIDDLE) / (TOP - MIDDLE)
        means = 1 + (TOP - 1) * expit(mentions * sentiment)
    return np.where(mentions > 0, means, np.nan)


def most_cared(attention: Float32s, count: int) -> Float32s:
    """Return 1/k in the columns of the k = `count` highest values of each row, else 0.

    Examples
    --------
    >>> most_cared(np.array([[3.0, 5.0, 4.0]]), 2)
    array([[0. , 0.5, 0.5]], dtype=float32)
    """
    highest = np.argsort(-attention, axis=1, kind="stable")[:, :count]
    cared = np.zeros(attention.shape, dtype=np.float32)
    np.put_along_axis(cared, highest, 1 / max(highest.shape[1], 1), axis=1)
    return cared


def _sums(rows: Codes, values: Array, n_rows: int) -> Floats:
    """Return the sum of each column over the values with the same row."""
    columns = [np.bincount(rows, column, minlength=n_rows) for column in values.T]
    return np.array(columns, dtype=np.float64).reshape(values.shape[1], n_rows).T
