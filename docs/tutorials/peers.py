# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # Your model beside ours
# You have a model of implicit, Cornac, RecTools or LensKit in use. Is dmrank better on your data? Judge both by one
# protocol: same test ratings, same candidates, ties against the model, paired tests over users.

# %%
import numpy as np
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import BM25Recommender
from scipy.sparse import csr_matrix

import dmrank

split = dmrank.make_hotels(seed=0).ratings.k_core(5).split(seed=0)
train = split.train

# %% [markdown]
# ## Theirs: implicit
# It learns from a matrix whose rows and columns it knows no ids of; `adapt` is told them.

# %%
ones = np.ones(len(train), dtype=np.float32)
matrix = csr_matrix(
    (ones, (train.user_codes, train.item_codes)), shape=(len(train.users), len(train.items))
)
als = AlternatingLeastSquares(factors=16, regularization=1.0, random_state=0, num_threads=1)
als.fit(matrix, show_progress=False)
bm25 = BM25Recommender(K=50, num_threads=1)
bm25.fit(matrix, show_progress=False)
theirs = {
    "implicit ALS": dmrank.adapt(als, users=train.users, items=train.items),
    "implicit BM25": dmrank.adapt(bm25, users=train.users, items=train.items, data=matrix),
}

# %% [markdown]
# A fair look gives both sides as many settings to choose from, on validation ratings. For brevity, not here: read
# what follows as how it is done, not as who wins.
#
# ## Theirs: Cornac, RecTools, LensKit, Surprise
# Their fitted models are asked through their own methods:
#
# ```py
# dmrank.adapt(cornac_model)                            # knows its ids
# dmrank.adapt(rectools_model, data=rectools_dataset)
# dmrank.adapt(lenskit_pipeline, data=lenskit_dataset)
# dmrank.adapt(surprise_algorithm)
# ```
#
# ## Theirs: whatever makes lists
# A table of lists, such as what your service sends today. What a list does not name comes last.

# %%
lists = dmrank.Popularity().fit(train).recommend(train.users, n=50)
lists.head(3)

# %% [markdown]
# ## Ours

# %%
ours = {
    "Hurdle": dmrank.Hurdle(seed=0).fit(train, validation=split.validation),
    "EASE": dmrank.EASE().fit(train, validation=split.validation),
}

# %% [markdown]
# ## Side by side

# %%
everybody = {**ours, **theirs, "lists of today": lists}
report = dmrank.evaluate(everybody, split, metrics=["ndcg@10", "ndcg@50", "recall@10"])
report.table()

# %% [markdown]
# By chance? The best against each other one, Holm's correction over the comparisons:

# %%
for test in report.significance("ndcg@10"):
    print(f"{test.best} − {test.other}: {test.difference:+.4f}, p = {test.p:.2g}")

# %% [markdown]
# Lists are one question. Which of two was liked better is another, and a model of lists knows little of it:

# %%
from dmrank.evaluation import rated_pairs

pairs = rated_pairs(split)
for name, one in everybody.items():
    print(f"{name:15} {pairs.accuracy(one).pooled:.3f}")

# %% [markdown]
# On a public file, with all of them tuned:
# [quality beside implicit, Cornac, RecTools and LensKit](../benchmarks.md#quality-beside-implicit-cornac-rectools-and-lenskit).
