# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # A model of one's own
# A model is a `Config` and two hooks. Ids, checks, filters, calibration, files, validation, evaluation and tuning come
# with it.
#
# ## The model
# The share of full marks that an item got on each aspect, shrunk to what is usual: simple, and it ranks by aspect.
# `learn` puts what it learned into `self.arrays`; `scoring_vectors` returns vectors whose dot products are
# the scores for a mix of aspects.

# %%
from typing import Annotated

import numpy as np

import dmrank
from dmrank import Config, Fitting, Model, Search, Vectors
from dmrank.models.config import Positive


class PraisedConfig(Config):
    """Parameters of Praised."""

    shrinkage: Annotated[Positive, Search((1.0, 3.0, 10.0, 30.0), log=True)] = 5.0
    """So many ratings at the mean are added to those of each item."""


class Praised(Model):
    """Rank by the share of full marks of an item on an aspect, shrunk."""

    Config = PraisedConfig

    def learn(self, fitting: Fitting) -> None:
        ratings = fitting.ratings
        full = (ratings.values == ratings.scale[:, 1]).astype(np.float32)
        given = (~np.isnan(ratings.values)).astype(np.float32)
        shape = (len(ratings.items), len(ratings.aspects))
        marks, counts = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        np.add.at(marks, ratings.item_codes, full)
        np.add.at(counts, ratings.item_codes, given)
        usual = full.sum(axis=0) / given.sum(axis=0)
        k = np.float32(self.config.shrinkage)
        self.arrays = {"shares": (marks + k * usual) / (counts + k)}

    def scoring_vectors(self, weights):
        users = np.tile(weights, (len(self.catalogue.users), 1))
        return Vectors(users, self.arrays["shares"])


# %% [markdown]
# ## Everything else comes with it

# %%
split = dmrank.make_hotels(seed=0).ratings.k_core(5).split(seed=0)
model = Praised(shrinkage=3).fit(split.train, validation=split.validation)
model.recommend("u000012", n=3, by={"service": 2, "value": 1}, aspects=True)

# %%
means = dmrank.ItemMean().fit(split.train)
report = dmrank.evaluate(
    {"Praised": model, "ItemMean": means}, split, metrics=["ndcg@10", "contrast"]
)
report.table()

# %%
tuned = dmrank.tune(Praised, split, trials=4)
tuned.trials

# %%
path = model.save("praised.dmrank")
assert dmrank.load(path).recommend("u000012").equals(model.recommend("u000012"))

# %% [markdown]
# A mistake in a parameter is named, as in every model:

# %%
try:
    Praised(shrinkige=3)
except dmrank.ConfigError as error:
    print(error)

# %% [markdown]
# ## More hooks, more answers
# `covariances` for probabilities in `compare` and for `complete`, `aspect_relevance` for `explain`, `fold_in_users` for
# newcomers, `layout` to have its files checked. All are on one page:
# {py:class}`FittedModel <dmrank.fitted.contract.FittedModel>`. It takes part in the paper's experiments as
# `--models DMR,EASE,mine:Praised`.
