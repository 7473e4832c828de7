"""Array kernels for ranking: the best items of a user, and the rank of given ones."""

from dmrank.ranking.layout import ItemColumns, ItemLists, item_columns, lists_of
from dmrank.ranking.ranks import RankQuery, ranks_of_items, ranks_of_items_scores
from dmrank.ranking.rerank import best_of_lists, score_lists
from dmrank.ranking.top_n import TopN, top_n, top_n_scores

__all__ = [
    "ItemColumns",
    "ItemLists",
    "RankQuery",
    "TopN",
    "best_of_lists",
    "item_columns",
    "lists_of",
    "ranks_of_items",
    "ranks_of_items_scores",
    "score_lists",
    "top_n",
    "top_n_scores",
]
