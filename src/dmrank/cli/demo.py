"""`dmrank demo`: what dmrank does, on synthetic hotels whose truth is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from dmrank.cli.commands import examples
from dmrank.cli.compare import print_comparison
from dmrank.cli.explain import print_explanation
from dmrank.cli.output import console, make_table
from dmrank.cli.recommend import rating_users
from dmrank.cli.stats import draw, print_statistics
from dmrank.support.targets import check_folder

if TYPE_CHECKING:
    from dmrank.data.ratings import Ratings
    from dmrank.data.synthetic import Synthetic
    from dmrank.fitted.contract import By
    from dmrank.models import Hurdle, Model
    from dmrank.support.arrays import AnyFloats, Codes, Float32s, Floats

_PAIRS = 20_000
#: Length of the lists.
_LISTED = 5
#: What one guest's lists are ranked by, and what that is called.
_RANKINGS: tuple[tuple[By, str], ...] = (
    ("service", "service"),
    ("value", "value"),
    ({"value": 2, "service": 1}, "2 value + 1 service"),
)


@examples(
    "dmrank demo",
    "dmrank demo --out pictures --seed 3",
)
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic hotels.")] = 0,
) -> None:
    """Show what dmrank does, on synthetic hotels."""
    from dmrank.data.statistics import describe
    from dmrank.data.synthetic import make_hotels
    from dmrank.models import Hurdle
    from dmrank.support.plots import check_drawing

    check_drawing()
    check_folder(out)
    screen = console()
    screen.print("Guests rate hotels on eight aspects (synthetic, so that the truth is known).")
    hotels = make_hotels(seed=seed)
    ratings = hotels.ratings
    statistics = describe(ratings)
    print_statistics(statistics, ratings.primary_aspect)
    ratings.write(out / "hotels.parquet")
    draw(ratings, statistics, out / "ratings.png")

    screen.print(
        "Learning from 70 % of the ratings (the first time compiles for most of a minute) …"
    )
    split = ratings.split(seed=seed)
    model = Hurdle(seed=seed).fit(split.train, validation=split.validation)
    model.save(out / "hotels.dmrank")
    _show_parts(screen, model, out)
    _show_recovery(screen, hotels, split.train, model, out, seed)
    _show_person(screen, model, str(ratings.users[12]), out)
    files = ", ".join(sorted(path.name for path in out.iterdir()))
    screen.print(f"Wrote to {out}: {files}.")


def _show_parts(screen: Console, model: Hurdle, out: Path) -> None:
    """Say what the model is made of, and how much of each lists take."""
    from dmrank.support.plots import save

    *who_comes, liked = (type(member).__name__ for member in model.members.values())
    screen.print(
        f"Who comes to a hotel (exposure) was learned by {', '.join(who_comes)}, how they like it "
        f"(preference) by {liked}.\nHeld-out lists stay good with {model.preference:.0%} of "
        "preference in them, which is what lists take.\n"
    )
    save(model.plot_preference(), out / "preference.png")
    save(model.plot_directions(), out / "directions.png")


def _show_recovery(
    screen: Console, hotels: Synthetic, train: Ratings, model: Hurdle, out: Path, seed: int
) -> None:
    """Compare the order of two hotels that a guest has not rated with the planted order."""
    import numpy as np

    from dmrank.models import ItemMean
    from dmrank.support.plots import draw_recovery, save

    rng = np.random.default_rng(seed)
    users = rng.integers(len(train.users), size=_PAIRS)
    first, second = rng.integers(len(train.items), size=(2, _PAIRS))
    truth = hotels.truth.mean(users, first) - hotels.truth.mean(users, second)
    by_model = _score_difference(model, users, first, second)
    by_item_mean = _score_difference(ItemMean().fit(train), users, first, second)
    table = make_table("aspect", "Hurdle", "item means", title="Planted order of two hotels found")
    found = _agreement(by_model, truth)
    bar = _agreement(by_item_mean, truth)
    for aspect, ours, plain in zip(train.aspects, found, bar, strict=True):
        table.add_row(aspect, f"{ours:.1%}", f"{plain:.1%}")
    screen.print(table)
    save(draw_recovery(found, bar, train.aspects, "Hurdle"), out / "recovery.png")


def _score_difference(model: Model, users: Codes, first: Codes, second: Codes) -> Float32s:
    names = model.catalogue.users.names(users).to_list()
    items = model.catalogue.items
    return model.predict(names, items.names(first).to_list(), raw=True) - model.predict(
        names, items.names(second).to_list(), raw=True
    )


def _agreement(predicted: AnyFloats, truth: AnyFloats) -> Floats:
    """Return, per aspect, the share of pairs in the true order."""
    import numpy as np

    return np.mean(np.sign(predicted) == np.sign(truth), axis=0)


def _show_person(screen: Console, model: Hurdle, guest: str, out: Path) -> None:
    """Show what one guest sees: lists, a comparison, a reason, and pictures of them."""
    from dmrank.support.plots import save

    for preference in (model.preference, 1.0):
        _show_lists(screen, model, guest, preference)
    # What the guest would like best, and where the guest is likely to go anyway.
    first = model.recommend(guest, n=1, preference=1)["item"][0]
    second = model.recommend(guest, n=1, preference=0, block=[first])["item"][0]
    print_comparison(screen, model.compare(guest, first, second))
    print_explanation(screen, model.explain(guest, first, by="overall"))
    save(model.plot_comparison(guest, first, second), out / "comparison.png")
    save(model.plot_profile(guest, first), out / "profile.png")
    save(model.plot_correlation(guest), out / "correlations.png")


def _show_lists(screen: Console, model: Hurdle, guest: str, preference: float) -> None:
    """Show lists by several aspects beside each other."""
    lists = [
        model.recommend(guest, n=_LISTED, by=by, preference=preference)["item_name"]
        for by, _ in _RANKINGS
    ]
    title = f"Lists of {guest} by aspect, {preference:.0%} preference"
    table = make_table("rank", *(name for _, name in _RANKINGS), title=title)
    for column in table.columns[1:]:
        column.justify = "left"
    for rank, names in enumerate(zip(*lists, strict=True), start=1):
        table.add_row(str(rank), *names)
    screen.print(table)
    screen.print(
        f"  Over all guests, {_differing(model, preference):.1f} of the {_LISTED} hotels by "
        "service are not among those by value.\n",
        style="dim",
    )


def _differing(model: Hurdle, preference: float) -> float:
    """Return how many hotels of the lists by service those by value lack, on average."""
    guests = rating_users(model)
    by_service, by_value = (
        model.recommend(guests, n=_LISTED, by=by, preference=preference).select("user", "item")
        for by in ("service", "value")
    )
    return len(by_service.join(by_value, on=["user", "item"], how="anti")) / len(guests)
