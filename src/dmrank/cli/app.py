"""The commands with their options; what they do is in the file of each command."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import dmrank
from dmrank.cli.options import ReadOptions, reads_ratings

app = typer.Typer(
    name="dmrank",
    help="Rank items by several aspects at once.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class OutputFormat(StrEnum):
    """How a table is printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class UnknownUsers(StrEnum):
    """What becomes of users that the model does not know."""

    RAISE = "raise"
    POPULAR = "popular"


class SplitMethod(StrEnum):
    """How rating vectors are assigned to train, validation and test."""

    RANDOM = "random"
    TIME = "time"
    TIME_PER_USER = "time-per-user"


class RatingMapping(StrEnum):
    """How the sentiment about an aspect becomes a rating."""

    SHRUNK = "shrunk"
    EFM = "efm"


class SearchStrategy(StrEnum):
    """How tuning chooses settings."""

    TPE = "tpe"
    GRID = "grid"
    RANDOM = "random"


ReviewsFile = Annotated[
    Path, typer.Argument(help="Reviews: csv, tsv, jsonl (plain or .gz) or parquet.", metavar="FILE")
]
TextColumn = Annotated[str, typer.Option(help="Column with the review.")]
TitleColumn = Annotated[
    str | None, typer.Option(help="Column with a title; default: title if there is one.")
]
OverallColumn = Annotated[
    str | None, typer.Option(help="Column with an overall rating, to learn opinions from.")
]
OverallScale = Annotated[
    list[str] | None, typer.Option(help="Scale of the ratings; default: 1:5.", metavar="LOW:HIGH")
]
RatingsFile = Annotated[
    Path, typer.Argument(help="Ratings: csv, tsv, jsonl (plain or .gz) or parquet.", metavar="FILE")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"dmrank {dmrank.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Rank items by several aspects at once."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figures.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of the synthetic hotels.")] = 0,
) -> None:
    """Show what dmrank does, on synthetic hotels."""
    from dmrank.cli.demo import run

    run(out, seed)


@app.command()
@reads_ratings
def stats(
    columns: ReadOptions,
    file: RatingsFile,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the result.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw distribution and correlations here.")
    ] = None,
) -> None:
    """Show how many users, items and ratings a file has, and what its aspects are like."""
    from dmrank.cli.stats import run

    run(columns.read(file), format_.value, figure)


@app.command()
@reads_ratings
def prepare(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[
        Path, typer.Option(help="File to write (by its ending), or folder with --split.")
    ],
    k_core: Annotated[
        int, typer.Option(help="Keep users and items with at least this many ratings.")
    ] = 0,
    split: Annotated[
        bool, typer.Option("--split", help="Write train, validation and test into a folder.")
    ] = False,
    by: Annotated[
        SplitMethod, typer.Option(help="How --split assigns ratings.")
    ] = SplitMethod.RANDOM,
    shares: Annotated[
        str, typer.Option(help="Shares of train, validation and test.", metavar="T,V,T")
    ] = "0.7,0.15,0.15",
    seed: Annotated[int, typer.Option(help="Seed of the random split.")] = 0,
) -> None:
    """Read, check, filter and split ratings, and write them as clean files."""
    from dmrank.cli.prepare import run

    run(columns, file, out, k_core, shares if split else None, by.value, seed)


@app.command()
@reads_ratings
def fit(
    columns: ReadOptions,
    file: RatingsFile,
    out: Annotated[Path, typer.Option(help="Model file to write.")],
    model: Annotated[str, typer.Option(help="Which model, such as dmr.")] = "dmr",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Parameters from a toml file.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Held-out ratings for early stopping.")
    ] = None,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder to save the state in, and to go on from.")
    ] = None,
) -> None:
    """Learn a model from ratings and write it into one file."""
    from dmrank.cli.fit import run

    run(columns, file, validation, model, set_ or [], config, out, checkpoint)


@app.command()
@reads_ratings
def evaluate(
    columns: ReadOptions,
    models: Annotated[list[Path], typer.Argument(help="Model files.", metavar="MODEL…")],
    train: Annotated[Path, typer.Option(help="The ratings that the models were fitted on.")],
    validation: Annotated[Path, typer.Option(help="Held-out ratings that are no candidates.")],
    test: Annotated[Path, typer.Option(help="The ratings to judge by.")],
    protocol: Annotated[str, typer.Option(help="full, or sampled(100).")] = "full",
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Such as ndcg@10, ap, recall@20; repeat for more."),
    ] = None,
    per_aspect: Annotated[
        bool, typer.Option("--per-aspect", help="One row per model, aspect and metric.")
    ] = False,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the result.")
    ] = OutputFormat.TABLE,
) -> None:
    """Judge models on test ratings, ranking by every aspect."""
    from dmrank.cli.evaluate import run

    parts = (train, validation, test)
    run(columns, models, parts, protocol, metric, per_aspect, format_.value)


@app.command()
def recommend(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    user: Annotated[
        list[str] | None, typer.Option(help="A user; repeat for more.", metavar="ID")
    ] = None,
    users: Annotated[
        Path | None,
        typer.Option(help="Users: one per line of a .txt, or the column user of a table."),
    ] = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Everybody that the model knows.")
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="What to rank by: an aspect, or ASPECT=WEIGHT; repeat for a mix. 'all' respects "
            "all aspects together. Default: the primary aspect.",
            metavar="ASPECT[=WEIGHT]",
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="Length of each list.")] = 10,
    include_seen: Annotated[
        bool, typer.Option("--include-seen", help="Also list what the user rated in training.")
    ] = False,
    allow: Annotated[
        Path | None, typer.Option(help="List only these items: a .txt, or a column item.")
    ] = None,
    block: Annotated[
        Path | None, typer.Option(help="List none of these items: a .txt, or a column item.")
    ] = None,
    aspects: Annotated[
        bool, typer.Option("--aspects", help="Also show the predicted rating on every aspect.")
    ] = False,
    on_unknown: Annotated[
        UnknownUsers, typer.Option(help="Users without a training rating: an error, or popularity.")
    ] = UnknownUsers.RAISE,
    out: Annotated[
        Path | None, typer.Option(help="Write the lists here (by its ending), in blocks.")
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the lists.")
    ] = OutputFormat.TABLE,
) -> None:
    """Rank items for users, by an aspect or a mix of aspects."""
    from dmrank.cli.recommend import Who, run

    run(
        model,
        Who(user or [], users, all_users),
        by or [],
        n,
        include_seen,
        allow,
        block,
        aspects,
        on_unknown.value,
        out,
        format_.value,
    )


@app.command()
def compare(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    first: Annotated[str, typer.Argument(help="An item.", metavar="A")],
    second: Annotated[str, typer.Argument(help="Another item.", metavar="B")],
    user: Annotated[str, typer.Option(help="Whose order is asked for.", metavar="ID")],
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the comparison.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the direction of the difference here.")
    ] = None,
) -> None:
    """Say which of two items a user will like better on each aspect, and how sure that is."""
    from dmrank.cli.compare import run

    run(model, user, first, second, format_.value, figure)


@app.command()
def explain(
    model: Annotated[Path, typer.Argument(help="Model file.", metavar="MODEL")],
    user: Annotated[str, typer.Option(help="To whom the item is recommended.", metavar="ID")],
    item: Annotated[str, typer.Option(help="The item.", metavar="ID")],
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="What is ranked by: an aspect, or ASPECT=WEIGHT; repeat for a mix.",
            metavar="ASPECT[=WEIGHT]",
        ),
    ] = None,
    template: Annotated[
        str | None,
        typer.Option(help="The sentence, with {item}, {first}, {second}, {aspects}, {by}, {user}."),
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the explanation.")
    ] = OutputFormat.TABLE,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw the item's predicted ratings here.")
    ] = None,
) -> None:
    """Say why an item is recommended to a user: which aspects matter, and how they were rated."""
    from dmrank.cli.explain import run

    run(model, user, item, by or [], template, format_.value, figure)


@app.command()
@reads_ratings
def tune(
    columns: ReadOptions,
    model: Annotated[str, typer.Argument(help="Which model, such as dmr.", metavar="MODEL")],
    train: Annotated[Path, typer.Option(help="Ratings to learn from.")],
    validation: Annotated[Path, typer.Option(help="Held-out ratings to judge by.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the best parameters here, for fit --config.")
    ] = None,
    trials: Annotated[int, typer.Option(help="How many settings are tried.")] = 30,
    strategy: Annotated[
        SearchStrategy, typer.Option(help="How settings are chosen; grid as in the paper.")
    ] = SearchStrategy.TPE,
    metric: Annotated[str, typer.Option(help="What is maximised.")] = "ndcg@10",
    users: Annotated[int, typer.Option(help="The most users a trial is judged on.")] = 1_000,
    seed: Annotated[int, typer.Option(help="Seed of the search and the models.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A fixed parameter; repeat for more.", metavar="NAME=VALUE"),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="Fixed parameters from a toml file.")] = None,
    storage: Annotated[
        Path | None, typer.Option(help="SQLite file that keeps trials; a cut-off search goes on.")
    ] = None,
    format_: Annotated[
        OutputFormat, typer.Option("--format", help="How to print the trials.")
    ] = OutputFormat.TABLE,
) -> None:
    """Search the parameters with which a model ranks validation ratings best."""
    from dmrank.cli.tune import run

    run(
        columns,
        model,
        train,
        validation,
        trials,
        strategy.value,
        metric,
        users,
        seed,
        set_ or [],
        config,
        storage,
        out,
        format_.value,
    )


@app.command()
@reads_ratings
def paper(
    columns: ReadOptions,
    ratings: Annotated[Path, typer.Option(help="Ratings: csv, tsv, jsonl or parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for the report; a cut-off run goes on there.")],
    models: Annotated[
        str | None,
        typer.Option(help="Which models, separated by commas; default: all.", metavar="A,B,…"),
    ] = None,
    budget: Annotated[str, typer.Option(help="quick, standard or full.")] = "standard",
    seeds: Annotated[
        int | None, typer.Option(help="How often each model is trained; default: by budget.")
    ] = None,
    k_core: Annotated[
        int, typer.Option(help="Keep users and items with at least this many ratings.")
    ] = 5,
    threads: Annotated[int | None, typer.Option(help="Default: every core.")] = None,
) -> None:
    """Make every table and figure of the paper from ratings, with all models."""
    from dmrank.cli.paper import run

    names = None if models is None else [name.strip() for name in models.split(",") if name.strip()]
    run(columns, ratings, out, names, budget, seeds, k_core, threads)


@app.command()
def extract(
    file: ReviewsFile,
    out: Annotated[Path | None, typer.Option(help="Ratings to write, by the ending.")] = None,
    text: TextColumn = "text",
    user: Annotated[str, typer.Option(help="Column with user ids.")] = "user",
    item: Annotated[str, typer.Option(help="Column with item ids.")] = "item",
    overall: OverallColumn = None,
    title: TitleColumn = None,
    timestamp: Annotated[
        str | None, typer.Option(help="Column with the time; default: timestamp.")
    ] = None,
    item_name: Annotated[
        str | None, typer.Option(help="Column with a name of the item; default: item_name.")
    ] = None,
    aspects: Annotated[
        str, typer.Option(help="hotels, restaurants, restaurants-coarse, beer or a lexicon file.")
    ] = "hotels",
    polarity: Annotated[
        Path | None, typer.Option(help="Polarity of words that was learned before.")
    ] = None,
    save_polarity: Annotated[
        Path | None, typer.Option(help="Keep the learned polarity of words here.")
    ] = None,
    mapping: Annotated[
        RatingMapping, typer.Option(help="How sentiments become ratings.")
    ] = RatingMapping.SHRUNK,
    use_overall: Annotated[
        bool, typer.Option(help="Whether ratings lean on the review's own overall rating.")
    ] = True,
    fill: Annotated[
        bool, typer.Option("--fill", help="Rate aspects that are not mentioned, too.")
    ] = False,
    scale: OverallScale = None,
    learn_from: Annotated[
        int, typer.Option(help="Most reviews to learn from; 0: only the lexicon.")
    ] = 50_000,
    threads: Annotated[int | None, typer.Option(help="Default: every core.")] = None,
    show: Annotated[int, typer.Option(help="Print the first N reviews, coloured.")] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write the same as a page (50 reviews without --show).")
    ] = None,
) -> None:
    """Extract aspect ratings from the text of reviews; a killed run goes on where it was."""
    from dmrank.cli.extract import ExtractOptions, run
    from dmrank.text.reviews import ReviewColumns

    columns = ReviewColumns(text, user, item, overall, title, timestamp, item_name)
    options = ExtractOptions(
        aspects,
        polarity,
        save_polarity,
        mapping.value,
        use_overall,
        fill,
        scale,
        learn_from,
        threads,
    )
    run(file, columns, options, out, show, html)


aspects_app = typer.Typer(
    help="Find the aspects that reviews are about; show lexicons.", no_args_is_help=True
)
app.add_typer(aspects_app, name="aspects")


@aspects_app.command("discover")
def discover_aspects(
    file: ReviewsFile,
    out: Annotated[Path, typer.Option(help="Lexicon to write: a toml file, to be edited.")],
    text: TextColumn = "text",
    title: TitleColumn = None,
    overall: OverallColumn = None,
    scale: OverallScale = None,
    min_count: Annotated[
        int, typer.Option(help="Leave out aspects with fewer mentions (the paper: 200000).")
    ] = 100,
    most: Annotated[int, typer.Option(help="At most so many aspects.")] = 20,
    similarity: Annotated[
        float, typer.Option(help="Lower gives fewer and wider aspects (0 to 1).")
    ] = 0.2,
    seeds: Annotated[
        str | None, typer.Option(help="A lexicon whose aspects words are grouped around.")
    ] = None,
) -> None:
    """Find the aspects of a corpus of reviews and write them as a lexicon file."""
    from dmrank.cli.aspects import discover

    discover(file, text, title, overall, scale, min_count, most, similarity, seeds, out)


@aspects_app.command("show")
def show_aspects(
    name: Annotated[str, typer.Argument(help="hotels, restaurants, beer or a lexicon file.")],
) -> None:
    """Show the aspects of a lexicon."""
    from dmrank.cli.aspects import show

    show(name)
