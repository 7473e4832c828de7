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
import os
import subprocess
from pathlib import Path

import cornac
import numpy as np
import polars as pl
import surprise
from implicit.als import AlternatingLeastSquares
from implicit.nearest_neighbours import BM25Recommender
from scipy.sparse import csr_matrix

import dmrank

split = dmrank.make_hotels(seed=0).ratings.k_core(5).split(seed=0)
train = split.train

# %% [markdown]
# A fair look gives both sides as many settings to choose from, on validation ratings. For brevity, not here: read
# what follows as how it is done, not as who wins.
#
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
# ## Theirs: Cornac
# A model of Cornac knows its ids. Here it learns from a one for every rating, as implicit does.

# %%
rated = train.to_polars().select("user", "item", "overall")
events = cornac.data.Dataset.from_uir(rated.with_columns(overall=pl.lit(1.0)).rows(), seed=0)
bpr = cornac.models.BPR(k=16, max_iter=200, learning_rate=0.01, seed=0, num_threads=1).fit(events)
theirs["Cornac BPR"] = dmrank.adapt(bpr)

# %% [markdown]
# ## Theirs: Surprise
# It predicts ratings and makes no lists of its own; `adapt` ranks by what it predicts.

# %%
scale = surprise.Reader(rating_scale=(1, 5))
stars = surprise.Dataset.load_from_df(rated.to_pandas(), scale).build_full_trainset()
theirs["Surprise SVD"] = dmrank.adapt(surprise.SVD(random_state=0).fit(stars))

# %% [markdown]
# ## Theirs: LensKit and RecTools, in an environment of their own
# LensKit wants pandas 2, and RecTools NumPy 1: they may not go with what you have. They need not. Ratings go there
# as a file, and lists come back as one. In an environment that has both,
#
# ```sh
# python -m venv other
# other/bin/pip install lenskit rectools pyarrow
# ```
#
# a script reads the training ratings and writes fifty items for everybody:

# %%
SCRIPT = """
import pandas as pd
from lenskit import topn_pipeline
from lenskit.batch import recommend
from lenskit.data import from_interactions_df
from lenskit.knn import EASEScorer
from rectools.dataset import Dataset
from rectools.models import PureSVDModel

rated = pd.read_parquet("train.parquet", columns=["user", "item"])
rated = rated.rename(columns={"user": "user_id", "item": "item_id"})
users = rated["user_id"].unique()

pipeline = topn_pipeline(EASEScorer(regularization=100.0))
pipeline.train(from_interactions_df(rated))
recommend(pipeline, list(users), n=50, n_jobs=1).to_df().to_parquet("lenskit.parquet")

data = Dataset.construct(rated.assign(weight=1.0, datetime="2020-01-01"))
svd = PureSVDModel(factors=16).fit(data)
svd.recommend(users, data, k=50, filter_viewed=True).to_parquet("rectools.parquet")
"""
train.write("train.parquet")
_ = Path("theirs.py").write_text(SCRIPT)

# %%
other = os.environ.get("OTHER_PYTHON", "other/bin/python")
if Path(other).exists():
    subprocess.run([other, "theirs.py"], check=True)
    for name, file in (("LensKit EASE", "lenskit"), ("RecTools PureSVD", "rectools")):
        lists = pl.read_parquet(f"{file}.parquet")
        theirs[name] = lists.select(user="user_id", item="item_id", rank="rank")
    print(theirs["LensKit EASE"].head(3))
else:
    print(f"There is no {other}: LensKit and RecTools are left out.")

# %% [markdown]
# Where one environment can have them and dmrank, both are asked directly: `dmrank.adapt(pipeline, data=dataset)` and
# `dmrank.adapt(model, data=dataset)`.
#
# ## Theirs: whatever makes lists
# A table of lists is all that it takes: also of what your service sends today. What a list does not name comes last.

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
    print(f"{name:16} {pairs.accuracy(one).pooled:.3f}")

# %% [markdown]
# On a public file, with all of them tuned:
# [quality beside implicit, Cornac, RecTools and LensKit](../benchmarks.md#quality-beside-implicit-cornac-rectools-and-lenskit).
