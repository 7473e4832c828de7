# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # The paper reproduced
# Every table and figure of *Directional Multivariate Ranking* (KDD 2020), on any ratings, is one command:
#
# ```sh
# dmrank paper --ratings reviews.parquet --out results/
# ```
#
# Here the same from Python, on few ratings, with few models and a budget far below `quick`, so that it takes seconds:
# its figures show how it is done, not who wins. The paper's own files were never published: on three public ones,
# [results](../results/README.md) has all of it.

# %%
from pathlib import Path

import polars as pl

import dmrank
from dmrank.experiments import run_paper
from dmrank.experiments.budgets import BUDGETS, Budget

BUDGETS["glance"] = Budget(
    trials=2,
    tuning_rows=None,
    finalists=1,
    tuning_patience=1,
    iterations=0.01,
    margins=(0.0, 0.2, 1.0),
    seeds=1,
)
aspects = ["overall", "service", "value"]
ratings = dmrank.make_ratings(150, 40, 2_500, aspects=aspects, missing=0.1, seed=1).ratings
run_paper(
    ratings,
    Path("results"),
    models=["DMR", "M-BPR", "EASE", "ItemMean", "Popularity"],
    budget="glance",
)
sorted(path.name for path in Path("results/tables").glob("*.csv"))

# %% [markdown]
# Killed and started again, it goes on where it was. `report.html` has everything on one page; each table is a csv
# file with all digits.
#
# ## Table 2: lists

# %%
table = pl.read_csv("results/tables/table-2.csv")
table.head(8)

# %% [markdown]
# ## Table 3: which of two
# `rated` pairs are two items that the user rated; `any` pairs, the paper's, are mostly a rated and an unrated one.

# %%
pl.read_csv("results/tables/table-3.csv").head(8)

# %% [markdown]
# ## Figure 5b: no gradient explodes
# The paper reports exploding gradients for larger margins. They are cancellation in 1 − erf: computed stably, the term
# grows linearly.

# %%
from IPython.display import Image

Image("results/figures/figure-5b.png", width=560, alt="The gradient's term, naive and stable")

# %% [markdown]
# ## As the paper has it
# `DMR.paper()` sets every parameter as the paper does, and gives the same result for ever.

# %%
paper, ours = dmrank.DMR.paper().get_params(), dmrank.DMR().get_params()
pl.DataFrame(
    [
        {"parameter": name, "paper": str(paper[name]), "default": str(ours[name])}
        for name in paper
        if paper[name] != ours[name]
    ]
)
