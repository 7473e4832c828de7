"""Fitted models of other libraries beside ours, with the real packages.

`make peers` builds environments that have them, and runs these tests there.
"""

import numpy as np
import pytest
from scipy import sparse

import dmrank
from dmrank import ConfigError, DataError, NotFittedError, Ratings, Split, make_ratings
from dmrank.evaluation import rated_pairs

pytestmark = pytest.mark.filterwarnings("default")  # what the packages warn of is theirs
REASON = "not installed: `make peers` builds an environment that has it"


@pytest.fixture(scope="module")
def split() -> Split:
    """Ids are numbers, in an order that is not that of text."""
    table = make_ratings(60, 25, 900, seed=3).ratings
    users, items = 11 * (97 - table.user_codes), 7 * (41 - table.item_codes)
    return Ratings.from_arrays(
        users.astype(str), items.astype(str), table.values, aspects=table.aspects, scale=(1, 5)
    ).split(seed=1)


def rows(part: Ratings):
    """Return the rows of a part with numbers as ids, as another library has them."""
    pandas = pytest.importorskip("pandas", reason=REASON)
    frame = pandas.DataFrame({
        "user_id": [int(user) for user in part.users.names(part.user_codes)],
        "item_id": [int(item) for item in part.items.names(part.item_codes)],
        "rating": part.values[:, 0].astype(float),
    })  # fmt: skip
    return frame.sample(frac=1, random_state=0)


def interactions(part: Ratings) -> tuple[sparse.csr_matrix, list[int], list[int]]:
    """Return a matrix of who rated what, and the ids of its rows and columns."""
    frame = rows(part)
    users, items = frame["user_id"].unique().tolist(), frame["item_id"].unique().tolist()
    codes = [users.index(u) for u in frame["user_id"]], [items.index(i) for i in frame["item_id"]]
    ones = np.ones(len(frame), dtype=np.float32)
    return sparse.csr_matrix((ones, codes), shape=(len(users), len(items))), users, items


def check_judged_as(split: Split, adapted, scores: np.ndarray, users, items) -> None:
    """Compare with a matrix of the model's scores: ranking, and the order of pairs."""
    plain = dmrank.adapt(scores, users=users, items=items)
    report = dmrank.evaluate({"adapted": adapted, "plain": plain}, split, metrics=["ap"])
    np.testing.assert_allclose(*(report.per_user(name, "ap") for name in report.models), atol=1e-12)
    assert report.mean("adapted", "ap") > 0.1
    pairs = rated_pairs(split)
    assert pairs.accuracy(adapted).pooled == pairs.accuracy(plain).pooled > 0.3


# implicit


@pytest.mark.parametrize("kind", ["als.AlternatingLeastSquares", "bpr.BayesianPersonalizedRanking"])
def test_factors_of_implicit(split: Split, kind: str) -> None:
    module, name = kind.split(".")
    implicit = pytest.importorskip(f"implicit.{module}", reason=REASON)
    matrix, users, items = interactions(split.train)
    model = getattr(implicit, name)(factors=4, random_state=1, num_threads=1)
    with pytest.raises(NotFittedError, match=f"{name} of implicit is not fitted"):
        dmrank.adapt(model, users=users, items=items)
    model.fit(matrix, show_progress=False)
    adapted = dmrank.adapt(model, users=users, items=items)
    assert adapted.name == name
    check_judged_as(split, adapted, model.user_factors @ model.item_factors.T, users, items)
    with pytest.raises(ConfigError, match="implicit knows no ids: give users= and items="):
        dmrank.adapt(model)
    with pytest.raises(DataError, match="was fitted on a matrix of shape"):
        dmrank.adapt(model, users=users[1:], items=items)


def test_neighbours_of_implicit(split: Split) -> None:
    neighbours = pytest.importorskip("implicit.nearest_neighbours", reason=REASON)
    matrix, users, items = interactions(split.train)
    model = neighbours.BM25Recommender(K=10, num_threads=1)
    with pytest.raises(NotFittedError, match="BM25Recommender of implicit is not fitted"):
        dmrank.adapt(model, users=users, items=items, data=matrix)
    model.fit(matrix, show_progress=False)
    adapted = dmrank.adapt(model, users=users, items=items, data=matrix)
    check_judged_as(split, adapted, (matrix @ model.similarity).toarray(), users, items)
    with pytest.raises(ConfigError, match="give it as data="):
        dmrank.adapt(model, users=users, items=items)


# Cornac


def test_cornac(split: Split) -> None:
    cornac = pytest.importorskip("cornac", reason=REASON)
    frame = rows(split.train)
    data = cornac.data.Dataset.from_uir(frame.itertuples(index=False), seed=1)
    model = cornac.models.MF(k=4, seed=1)
    with pytest.raises(NotFittedError, match="MF of Cornac is not fitted"):
        dmrank.adapt(model)
    model.fit(data)
    scores = [
        [model.rate(u, i, clipping=False) for i in range(data.num_items)]
        for u in range(data.num_users)
    ]
    adapted = dmrank.adapt(model)
    assert adapted.name == "MF"
    check_judged_as(split, adapted, np.array(scores), data.user_ids, data.item_ids)


def test_models_of_cornac_whose_scores_are_rows_of_a_matrix(split: Split) -> None:
    cornac = pytest.importorskip("cornac", reason=REASON)
    data = cornac.data.Dataset.from_uir(rows(split.train).itertuples(index=False), seed=1)
    model = cornac.models.EASE(lamb=10, verbose=False).fit(data)
    scores = data.matrix @ model.B
    check_judged_as(split, dmrank.adapt(model), scores, data.user_ids, data.item_ids)


def test_models_of_cornac_that_rank_by_something_else_than_their_score(split: Split) -> None:
    """Such as EFM, which ranks by what a user cares about."""
    cornac = pytest.importorskip("cornac", reason=REASON)

    class LastFirst(cornac.models.MF):
        def rank(self, user_idx, item_indices=None, k=-1, **options):
            scores = -self.score(user_idx)
            return np.argsort(-scores), scores

    data = cornac.data.Dataset.from_uir(rows(split.train).itertuples(index=False), seed=1)
    model = LastFirst(k=4, seed=1).fit(data)
    last_first = -np.array([model.score(user) for user in range(data.num_users)])
    adapted = dmrank.adapt(model)
    plain = dmrank.adapt(last_first, users=data.user_ids, items=data.item_ids)
    report = dmrank.evaluate({"adapted": adapted, "plain": plain}, split, metrics=["ap"])
    np.testing.assert_allclose(*(report.per_user(name, "ap") for name in report.models))


# LensKit


def test_lenskit(split: Split) -> None:
    lenskit = pytest.importorskip("lenskit", reason=REASON)
    from lenskit.als import BiasedMFScorer
    from lenskit.data import ItemList, from_interactions_df

    data = from_interactions_df(rows(split.train))
    scorer = BiasedMFScorer(features=4)
    pipeline = lenskit.topn_pipeline(scorer)
    pipeline.train(data)
    users, items = data.users.ids(), data.items.ids()
    scores = np.array(
        [pipeline.run("scorer", query=user, items=ItemList(items)).scores() for user in users]
    )
    check_judged_as(split, dmrank.adapt(pipeline, data=data), scores, users, items)
    with pytest.raises(ConfigError, match="give the Dataset that it was trained on"):
        dmrank.adapt(pipeline)
    with pytest.raises(ConfigError, match="is a part of a pipeline"):
        dmrank.adapt(scorer, data=data)
    seen = from_interactions_df(rows(split.test))
    with pytest.raises(DataError, match="seen has seen test ratings"):
        dmrank.evaluate({"seen": dmrank.adapt(pipeline, data=seen)}, split)


# Surprise


def test_surprise(split: Split) -> None:
    surprise = pytest.importorskip("surprise", reason=REASON)
    reader = surprise.Reader(rating_scale=(1, 5))

    def training_set(part: Ratings):
        return surprise.Dataset.load_from_df(rows(part), reader).build_full_trainset()

    model = surprise.SVD(n_factors=4, random_state=1)
    with pytest.raises(NotFittedError, match="SVD of Surprise is not fitted"):
        dmrank.adapt(model)
    model.fit(training_set(split.train))
    users, items = (list(ids) for ids in (split.train.users, split.train.items))
    scores = [[model.predict(int(u), int(i), clip=False).est for i in items] for u in users]
    check_judged_as(split, dmrank.adapt(model), np.array(scores), users, items)
    with pytest.raises(DataError, match="SVD has seen test ratings"):
        dmrank.evaluate(dmrank.adapt(model.fit(training_set(split.test))), split)


# RecTools


def test_rectools(split: Split) -> None:
    models = pytest.importorskip("rectools.models", reason=REASON)
    from implicit.als import AlternatingLeastSquares
    from rectools.dataset import Dataset

    frame = rows(split.train).rename(columns={"rating": "weight"})
    frame["datetime"] = "2020-01-01"
    data = Dataset.construct(frame)
    inner = AlternatingLeastSquares(factors=4, random_state=1, num_threads=1)
    model = models.ImplicitALSWrapperModel(inner)
    with pytest.raises(NotFittedError, match="ImplicitALSWrapperModel of RecTools is not fitted"):
        dmrank.adapt(model, data=data)
    model.fit(data)
    users, items = data.user_id_map.external_ids, data.item_id_map.external_ids
    vectors = model.get_vectors()
    adapted = dmrank.adapt(model, data=data)
    check_judged_as(split, adapted, np.dot(vectors[0], vectors[1].T), users, items)
    lists = model.recommend(users, data, k=5, filter_viewed=False)
    report = dmrank.evaluate({"model": adapted, "lists": lists}, split, metrics=["hit@1"])
    assert 0 < report.mean("lists", "hit@1") <= report.mean("model", "hit@1")
    with pytest.raises(ConfigError, match="give the Dataset that it was fitted on"):
        dmrank.adapt(model)
