# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # Hotels end to end
# From a csv file to lists by any aspect, a comparison of two hotels with how sure it is, and an explanation.
#
# ## A table
# One row per rating: who, what, and one column per aspect. These hotels are made up; yours is
# `reviews.csv`, whatever its columns are called (`read_ratings(user="guest", item="hotel")`).

# %%
import polars as pl

import dmrank

dmrank.make_hotels(seed=0).ratings.write("reviews.csv")
pl.read_csv("reviews.csv").head(3)

# %%
ratings = dmrank.read_ratings("reviews.csv")
ratings

# %% [markdown]
# Gaps stay gaps: an aspect that was not rated is missing, not zero. What is in the table:

# %%
dmrank.describe(ratings)

# %% [markdown]
# ## A split
# Users and items with fewer than five ratings are left out, as nobody can learn from them; the rest is split
# into what is trained on, what choices are made by, and what is looked at once, at the end.

# %%
split = ratings.k_core(5).split(seed=0)
split

# %% [markdown]
# ## A model
# `Hurdle` learns who comes to a hotel, and how they will like it. Validation ratings choose how the two are mixed
# in lists, and how sure probabilities may be.

# %%
model = dmrank.Hurdle(seed=0).fit(split.train, validation=split.validation)
model.preference  # the share of "how it will be liked" that lists bear

# %% [markdown]
# ## Lists
# By one aspect, by a mix, by all of them together. `aspects=True` adds what this guest would rate.

# %%
model.recommend("u000012", n=5, by="service", aspects=True)

# %%
model.recommend("u000012", n=5, by={"value": 2, "cleanliness": 1})

# %% [markdown]
# Two lists by two aspects are not one list under two names. More preference makes them differ more:

# %%
lists = {
    (aspect, share): set(model.recommend("u000012", by=aspect, preference=share)["item"])
    for aspect in ("service", "value")
    for share in (0.0, 0.5, 1.0)
}
for share in (0.0, 0.5, 1.0):
    shared = lists["service", share] & lists["value", share]
    print(f"preference {share}: {len(shared)} of 10 hotels are in both lists")

# %% [markdown]
# ## Which of two
# For one guest, aspect by aspect, with the probability of the order; calibrated on validation ratings.

# %%
first, second = model.recommend("u000012", n=2, by="service")["item"]
model.compare("u000012", first, second)

# %% [markdown]
# ## Why
# The aspects that speak for it, and the ratings that they rest on.

# %%
why = model.explain("u000012", first, by="overall")
print(why.sentence)
why.table

# %% [markdown]
# ## Somebody new
# Three ratings are enough to start with; nothing is trained again.

# %%
newcomer = pl.DataFrame(
    {"user": ["new"] * 3, "item": ["h000001", "h000005", "h000009"], "overall": [5, 2, 4]}
)
model.fold_in(newcomer).recommend("new", n=3, by="value")

# %% [markdown]
# ## Is it any good?
# Test ratings, looked at once. NDCG says whether lists find what people came to; *rated pairs* which of two was
# liked better; *contrast* on which aspect. A coin has one half of the last two.

# %%
from dmrank.evaluation import rated_pairs

rivals = {
    "Hurdle": model,
    "EASE": dmrank.EASE().fit(split.train, validation=split.validation),
    "ItemMean": dmrank.ItemMean().fit(split.train),
    "Popularity": dmrank.Popularity().fit(split.train),
}
report = dmrank.evaluate(rivals, split, metrics=["ndcg@10", "contrast"])
report.table()

# %%
pairs = rated_pairs(split)
{name: round(pairs.accuracy(rival).pooled, 3) for name, rival in rivals.items()}

# %% [markdown]
# ## Keep it
# One file, which opening cannot harm (safetensors, never pickle), and a card that says what is in it.

# %%
path = model.save("hotels.dmrank", card=True)
opened = dmrank.load(path)
assert opened.recommend("u000012").equals(model.recommend("u000012"))
print(opened.card().to_markdown()[:900], "…")
