"""Array kernels for ranking: the best items of a user, and the rank of given ones."""

from dmrank.ranking.lists import lists_of
from dmrank.ranking.ranks import ranks_of_items, ranks_of_items_scores
from dmrank.ranking.top_n import TopN, top_n, top_n_scores

__all__ = ["TopN", "lists_of", "ranks_of_items", "ranks_of_items_scores", "top_n", "top_n_scores"]
