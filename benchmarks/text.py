"""How well and how fast aspect ratings are extracted from text.

    python -m benchmarks.text [--reviews FILE] [--labels FILE] [--record]

Hotel reviews with given aspect ratings: polarity is learned from the texts and overall ratings of
one half; the other half is extracted and compared with its given aspect ratings, which nothing
learns from. Restaurant sentences with human labels: learned from one half, judged on the other.
Speed: beside VADER over every sentence of the same reviews, one core each, in turns.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import spearmanr
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

import dmrank
from benchmarks.record import add_record_option, as_called, write_record
from dmrank.text import Extractor, Polarity, load_lexicon
from dmrank.text.reading import clean_texts
from dmrank.text.scoring import rate

DATA = Path(__file__).parents[2] / "shared" / "data"
ASPECTS = ("value", "rooms", "location", "cleanliness", "service")
LABELS = ("food", "service", "price", "ambience")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
Row = dict[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reviews", type=Path, default=DATA / "tripadvisor-reviews.parquet")
    parser.add_argument("--labels", type=Path, default=DATA / "restaurant-aspect-labels.parquet")
    parser.add_argument("--rows", type=int, help="only so many reviews, while trying things out")
    parser.add_argument("--peak", nargs=2, metavar=("FILE", "OUT"), help=argparse.SUPPRESS)
    add_record_option(parser)
    arguments = parser.parse_args()
    if arguments.peak:
        print(measure_peak(*arguments.peak))
        return
    reviews = pl.read_parquet(arguments.reviews)
    if arguments.rows:
        reviews = reviews.sample(arguments.rows, seed=0)
    correlations, orders = judge_hotels(reviews)
    figures = [*orders, *judge_restaurants(pl.read_parquet(arguments.labels))]
    speeds = [*compare_speed(reviews), *compare_memory(reviews)]
    if arguments.record:
        kept = {"text-hotels": correlations, "text": figures, "text-speed": speeds}
        for name, rows in kept.items():
            write_record(name, as_called("text"), rows, ("vaderSentiment",))


# Hotels


def judge_hotels(reviews: pl.DataFrame) -> tuple[list[Row], list[Row]]:
    """Return correlations with given ratings, and how often two aspects are in their order."""
    order = np.random.default_rng(7).permutation(len(reviews))
    half = len(reviews) // 2
    learned_on, held_out = reviews[order[:half]], reviews[order[half:]]
    polarity = dmrank.learn_polarity(learned_on, overall="overall")
    given = held_out.select(ASPECTS).to_numpy().astype(float)
    overall = held_out["overall"].to_numpy().astype(float)
    print(f"\nHotels: {polarity!r}, judged on {len(held_out):,} others")
    print(
        f"{'Spearman with the given ratings':48}{'mean':>6}" + "".join(f"{a:>13}" for a in ASPECTS)
    )
    sentences, whole = vader_baselines(held_out)
    text_alone = extract(held_out, polarity, use_overall=False)
    with_overall = extract(held_out, polarity, use_overall=True)
    mentioned = ~np.isnan(text_alone)
    everywhere = np.repeat(overall[:, None], len(ASPECTS), 1)
    ways = {
        "VADER on sentences with a keyword": sentences,
        "VADER on all sentences, for every aspect": whole,
        "the given overall rating, for every aspect": everywhere,
        "the same, only where the aspect is mentioned": np.where(mentioned, everywhere, np.nan),
        "extracted from text alone": text_alone,
        "extracted from text and overall rating": with_overall,
        "text alone, every review (`fill=True`)": extract(
            held_out, polarity, use_overall=False, fill=True
        ),
        "text and overall, every review (`fill=True`)": extract(
            held_out, polarity, use_overall=True, fill=True
        ),
        "text alone, EFM's formula": extract(held_out, polarity, use_overall=False, mapping="efm"),
    }
    rows = [correlate(name, found, given) for name, found in ways.items()]
    coverage = mentioned.mean(axis=0)
    rows.append(show("share of reviews that mention the aspect", coverage.tolist()))
    return rows, compare_pairs(text_alone, with_overall, given, learned_on)


def extract(reviews: pl.DataFrame, polarity: Polarity, **options: object) -> np.ndarray:
    """Extract ratings in the order of the reviews."""
    numbered = reviews.with_columns(
        user=pl.int_range(pl.len()).cast(pl.String).str.zfill(9), item=pl.lit("any")
    )
    ratings = dmrank.extract_aspects(
        numbered, overall="overall", polarity=polarity, verbose=False, **options
    )
    return ratings.values[:, [ratings.aspect(name) for name in ASPECTS]].astype(float)


def correlate(name: str, found: np.ndarray, given: np.ndarray) -> Row:
    """Return the rank correlation of each aspect with its given ratings."""
    values = []
    for k in range(len(ASPECTS)):
        both = ~np.isnan(found[:, k]) & ~np.isnan(given[:, k])
        values.append(float(spearmanr(found[both, k], given[both, k])[0]))
    return show(name, values)


def show(name: str, values: list[float]) -> Row:
    """Print what a row of the table says of each aspect, and return it."""
    every = [float(np.mean(values)), *values]
    print(f"{name:48}" + "".join(f"{value:13.3f}" for value in every), flush=True)
    shown = (f"{value:.3f}".removeprefix("0") for value in every)
    return {"rated by": name, **dict(zip(("mean", *ASPECTS), shown, strict=True))}


def figure(what: str, value: str) -> Row:
    """Print a figure, and return its row."""
    print(f"{what:80}{value:>16}", flush=True)
    return {"what": what, "figure": value}


def with_titles(reviews: pl.DataFrame) -> list[str]:
    return clean_texts(reviews["text"], reviews["title"]).str.strip_chars().to_list()


def vader_baselines(reviews: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Score sentences that have a keyword, and whole reviews, with VADER."""
    vader = SentimentIntensityAnalyzer()
    words = load_lexicon("hotels").aspects
    patterns = [
        re.compile(r"\b(?:" + "|".join(words[a].terms) + r")s?\b", re.IGNORECASE) for a in ASPECTS
    ]
    sentences = np.full((len(reviews), len(ASPECTS)), np.nan)
    whole = np.empty((len(reviews), len(ASPECTS)))
    for row, text in enumerate(with_titles(reviews)):
        scored = [(s, vader.polarity_scores(s)["compound"]) for s in _SENTENCE.split(text)]
        whole[row] = np.mean([value for _, value in scored])
        for k, pattern in enumerate(patterns):
            about = [value for sentence, value in scored if pattern.search(sentence)]
            sentences[row, k] = np.mean(about) if about else np.nan
    return sentences, whole


def compare_pairs(
    text_alone: np.ndarray, with_overall: np.ndarray, given: np.ndarray, learned_on: pl.DataFrame
) -> list[Row]:
    """Order two aspects that a reviewer rated differently and mentioned both."""
    # Only the fixed order looks at given aspect ratings: it is the best one of the other half.
    means = learned_on.select(ASPECTS).mean().row(0)
    ways = {"text alone": text_alone, "text and overall": with_overall}
    right, pairs, ties = dict.fromkeys(("fixed", *ways), 0), 0, 0
    for j in range(len(ASPECTS)):
        for k in range(j):
            difference = given[:, j] - given[:, k]
            rows = (np.abs(difference) > 0) & ~np.isnan(text_alone[:, j] + text_alone[:, k])
            sign = np.sign(difference[rows])
            pairs += int(rows.sum())
            right["fixed"] += int((sign == np.sign(means[j] - means[k])).sum())
            for name, found in ways.items():
                ordered = np.sign(found[rows, j] - found[rows, k])
                right[name] += int((ordered == sign).sum())
                ties += int((ordered == 0).sum()) if name == "text alone" else 0
    return [
        figure("hotels: pairs of aspects, both mentioned, rated differently", f"{pairs:,}"),
        figure("their order by the best fixed one", f"{right['fixed'] / pairs:.1%}"),
        figure("their order by what is extracted from text", f"{right['text alone'] / pairs:.1%}"),
        figure("the same with overall", f"{right['text and overall'] / pairs:.1%}"),
        figure("of them tied, which is wrong", f"{ties / pairs:.1%}"),
    ]


# Restaurants


def judge_restaurants(labels: pl.DataFrame) -> list[Row]:
    """Return how often aspects are found in sentences, and whether they are praised."""
    sentences = labels.group_by("sentence_id", maintain_order=True).agg(
        pl.first("text"), "aspect", "polarity"
    )
    has = np.zeros((len(sentences), len(LABELS)), dtype=bool)
    sign = np.zeros(has.shape)
    overall = np.empty(len(sentences))
    for row, (aspects, polarities) in enumerate(sentences.select("aspect", "polarity").rows()):
        signs = [{"positive": 1, "negative": -1}.get(polarity, 0) for polarity in polarities]
        overall[row] = 3 + 2 * np.mean(signs)
        for aspect, value in zip(aspects, signs, strict=True):
            if aspect in LABELS:
                has[row, LABELS.index(aspect)] = True
                sign[row, LABELS.index(aspect)] = value
    even = np.array([zlib.crc32(name.encode()) % 2 == 0 for name in sentences["sentence_id"]])
    learned_on, held_out = np.flatnonzero(even), np.flatnonzero(~even)
    polarity = dmrank.learn_polarity(
        sentences[learned_on].with_columns(overall=overall[learned_on]),
        overall="overall",
        aspects="restaurants-coarse",
    )
    extractor = Extractor(polarity, threads=1)
    scores, _ = extractor.score(clean_texts(sentences["text"][held_out]))
    detected, real = scores.mentions > 0, has[held_out]
    hits = int((detected & real).sum())
    precision, recall = hits / int(detected.sum()), hits / int(real.sum())
    stars = rate(scores, polarity, fill=True)
    judged = sign[held_out] != 0
    right = np.where(stars > 3, 1, -1) == sign[held_out]
    print(f"\nRestaurants: {polarity!r}, judged on {len(held_out):,} other sentences")
    f1 = 2 * hits / (detected.sum() + real.sum())
    return [
        figure("restaurants: F1 of aspects found", f"{f1:.3f}"),
        figure("their precision", f"{precision:.3f}"),
        figure("their recall", f"{recall:.3f}"),
        figure("positive and negative labels", f"{judged.sum():,}"),
        figure("of them right", f"{right[judged].mean():.1%}"),
        figure("right where the aspect is found", f"{right[judged & detected].mean():.1%}"),
        figure("right by always positive", f"{(sign[held_out][judged] > 0).mean():.1%}"),
    ]


# Speed


def compare_speed(reviews: pl.DataFrame, rows: int = 2_000, turns: int = 5) -> list[Row]:
    """Time both in turns, and learning once."""
    drawn = reviews.sample(min(rows, len(reviews)), seed=1)
    drawn = drawn.with_columns(user=pl.int_range(pl.len()).cast(pl.String), item=pl.lit("any"))
    polarity = dmrank.learn_polarity(reviews, overall="overall")
    vader, texts = SentimentIntensityAnalyzer(), with_titles(drawn)
    ours, theirs = [], []
    for _ in range(turns):
        started = time.perf_counter()
        for text in texts:
            for sentence in _SENTENCE.split(text):
                vader.polarity_scores(sentence)
        theirs.append(time.perf_counter() - started)
        started = time.perf_counter()
        dmrank.extract_aspects(drawn, polarity=polarity, threads=1, verbose=False)
        ours.append(time.perf_counter() - started)
    characters = int(drawn["text"].str.len_chars().median())
    print(f"\nSpeed, one core, {len(drawn):,} reviews (median {characters} characters)", end="")
    print(f", median of {turns} turns")
    speeds = [len(drawn) / float(np.median(times)) for times in (theirs, ours)]
    started = time.perf_counter()
    dmrank.learn_polarity(reviews, overall="overall")
    learning = time.perf_counter() - started
    return [
        figure("VADER on every sentence, reviews per second", f"{speeds[0]:,.0f}"),
        figure("`extract_aspects`, reviews per second", f"{speeds[1]:,.0f}"),
        figure("ratio", f"{speeds[1] / speeds[0]:.1f}×"),
        figure(f"seconds to learn polarity from {len(reviews):,} reviews", f"{learning:.1f}"),
    ]


def compare_memory(reviews: pl.DataFrame) -> list[Row]:
    """Extract a file and one eight times as long, each in a process of its own."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for times in (1, 8):
            file = Path(folder) / f"reviews-{times}.parquet"
            pl.concat([reviews] * times).write_parquet(file, row_group_size=8_192)
            command = [sys.executable, "-m", "benchmarks.text", "--peak", str(file)]
            command.append(f"{folder}/{times}.parquet")
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            what = f"most memory of `dmrank extract`, {times * len(reviews):,} reviews"
            rows.append(figure(what, f"{float(done.stdout) / 1e6:,.0f} MB"))
    return rows


def measure_peak(file: str, out: str) -> int:
    from dmrank.cli.extract import extract

    extract(Path(file), Path(out), overall="overall", learn_from=20_000, threads=1)
    # Not getrusage: its maximum is inherited from the parent process.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024


if __name__ == "__main__":
    main()
