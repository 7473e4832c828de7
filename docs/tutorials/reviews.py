# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # From reviews to rankings
# Most people have reviews with text and one star rating, and no ratings of aspects. What a review says about
# each aspect is made a rating first; then everything else goes as always. Needs the extra `text`.
#
# ## Reviews
# Sentences about hotels, made up from known ratings, so that what is found can be compared with what was meant.

# %%
import numpy as np
import polars as pl

import dmrank

truth = dmrank.make_ratings(300, 80, 5_000, missing=0.3, seed=1).ratings
rng = np.random.default_rng(0)
WORDS = {
    5: ("excellent", "superb", "wonderful"),
    4: ("good", "very nice", "pleasant"),
    3: ("average", "okay"),
    2: ("not good", "poor", "disappointing"),
    1: ("terrible", "awful", "horrible"),
}
NAMES = {"service": "staff", "value": "price", "rooms": "room", "location": "location"}


def review(row: dict) -> str:
    said = [
        f"The {NAMES[aspect]} was {rng.choice(WORDS[int(row[aspect])])}."
        for aspect in NAMES
        if row[aspect] is not None
    ]
    return " ".join(said) or "We stayed two nights."


table = truth.to_polars()
reviews = table.select("user", "item", stars="overall").with_columns(
    text=pl.Series([review(row) for row in table.iter_rows(named=True)])
)
reviews.write_csv("reviews.csv")
reviews.head(3)

# %% [markdown]
# ## Aspects out of text
# The lexicon says which words name an aspect; how good or bad a word is, is learned from the stars. An aspect that a
# review does not mention is missing.

# %%
ratings = dmrank.extract_aspects("reviews.csv", overall="stars", aspects="hotels")
ratings

# %% [markdown]
# Did it find what was meant? Where the review speaks of an aspect, beside the rating that the sentence was made from:

# %%
found = ratings.to_polars().join(table, on=["user", "item"], suffix="_meant")
rows = []
for aspect in NAMES:
    both = found.select(aspect, f"{aspect}_meant").drop_nulls()
    rows.append(
        {
            "aspect": aspect,
            "reviews": both.height,
            "correlation": both.select(pl.corr(aspect, f"{aspect}_meant")).item(),
        }
    )
pl.DataFrame(rows)

# %% [markdown]
# Real reviews are harder than these sentences: [how well it does on 31,893 of them](../text.md#how-well).
#
# ## And on as always

# %%
split = ratings.k_core(3).split(seed=0)
model = dmrank.Hurdle(seed=0).fit(split.train, validation=split.validation)
user = model.users[0]
model.recommend(user, n=5, by="service")

# %%
first, second = model.recommend(user, n=2, by="service")["item"]
model.compare(user, first, second)

# %% [markdown]
# On the command line, with `--show 5` to judge by eye first, and a draft of a lexicon for another trade:
#
# ```sh
# dmrank extract reviews.csv --overall stars --show 5
# dmrank extract reviews.csv --overall stars --out ratings.parquet
# dmrank aspects discover reviews.csv --overall stars --out mine.toml
# ```
