"""Model, index, checkpoint and polarity files: damaged ones, and ones that lie.

A file that was damaged on its way gives the answers of the whole one, or is refused. A file that
somebody wrote on purpose, checksums and all, may say what it likes, but what is answered from it is
in order: known items, finite scores.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import dmrank
from dmrank import ApproximateIndex, Model
from dmrank.support.containers import FILE_FORMAT, write_container
from dmrank.text.polarity import load_polarity
from tests.attack.case import Case
from tests.attack.damage import damaged
from tests.attack.fixtures import QUICK, lists_wrong, model, ratings

_REVIEWS = pl.DataFrame(
    {
        "user": ["a", "b", "c"],
        "item": ["x", "x", "y"],
        "text": [
            "A lovely room, but rude staff.",
            "Clean, not cheap.",
            "The bed was not good at all.",
        ],
    }
)
_ODD_METADATA: tuple[Any, ...] = (
    None,
    -1,
    0,
    2**70,
    1e300,
    "x",
    "",
    [],
    {},
    [None],
    True,
    "\x1b[1m",
)
_ODD_NUMBERS = (float("nan"), float("inf"), -1, 0, 2**31 - 1, -(2**31), 1e30, 1e-45)


class Answer(NamedTuple):
    """What was answered from a file: to be compared, and to be checked."""

    shown: str
    lists: pl.DataFrame | None


class Target(NamedTuple):
    """A kind of file: its bytes, and how it is used."""

    data: bytes
    use: Callable[[Path], Answer]
    whole: Answer


def make(rng: random.Random, folder: Path) -> Case:
    """Damage a file, or rewrite it so that it lies."""
    name = rng.choice(_NAMES)
    target = find_target(name)
    file = folder / "file.dmrank"
    lies = rng.random() < 0.4
    if lies:
        done = _rewrite(rng, target.data, file)
    else:
        edit = rng.random() < 0.3
        done, data = (_edit_header if edit else damaged)(rng, target.data)
        file.write_bytes(data)

    def wrong(answer: Answer) -> str | None:
        if lies:
            # What is listed is checked against the items of the file, not those of the whole one.
            return (
                None
                if answer.lists is None
                else lists_wrong(answer.lists, dmrank.load(file))
                if name in QUICK
                else None
            )
        return None if answer.shown == target.whole.shown else "other answers than the whole file"

    return Case(
        f"{name}, {'rewritten' if lies else 'damaged'}: {done}", lambda: target.use(file), wrong
    )


def prepare() -> None:
    """Make the files of all kinds."""
    for name in _NAMES:
        find_target(name)


@cache
def find_target(name: str) -> Target:
    """Make a file once, and what is answered from it."""
    folder = Path(mkdtemp(prefix="dmrank-attack-files-"))
    file = folder / "file.dmrank"
    use: Callable[[Path], Answer]
    if name == "index":
        model("MBPR").index(clusters=6, probes=3).save(file)
        use = _use_index
    elif name == "checkpoint":
        file = _make_checkpoint(folder)
        use = _use_checkpoint
    elif name == "polarity":
        dmrank.learn_polarity(_many_reviews(), overall="overall").save(file)
        use = _use_polarity
    else:
        model(name).save(file)
        use = _use_model
    data = file.read_bytes()
    whole = use(file)
    for left in folder.iterdir():
        left.unlink()
    folder.rmdir()
    return Target(data, use, whole)


_NAMES = [*QUICK, *QUICK, "index", "index", "index", "checkpoint", "checkpoint", "polarity"]


def _use_model(file: Path) -> Answer:
    loaded = dmrank.load(file)
    lists = loaded.recommend(loaded.catalogue.users, n=5, aspects=True)
    first = loaded.catalogue.users[0]
    items = list(loaded.catalogue.items)[:3]
    others = [
        _unless_unsupported(ask, loaded, first, items)
        for ask in (_compare, _explain, _similar, _fold_in)
    ]
    shown = [lists.to_dicts(), loaded.predict(first, items).tolist(), *others]
    return Answer(repr(shown), lists)


def _compare(loaded: Model, user: str, items: list[str]) -> object:
    compared = loaded.compare(user, items[0], items[1], pairs=10)
    return compared.table.to_dicts(), compared.confidence


def _explain(loaded: Model, user: str, items: list[str]) -> object:
    return str(loaded.explain(user, items[0]))


def _similar(loaded: Model, user: str, items: list[str]) -> object:
    return loaded.similar_items(items[0], n=3).to_dicts()


def _fold_in(loaded: Model, user: str, items: list[str]) -> object:
    aspects = {aspect: [4.0, 2.0] for aspect in loaded.catalogue.aspects}
    grown = loaded.fold_in(pl.DataFrame({"user": ["new", "new"], "item": items[:2], **aspects}))
    return grown.recommend("new", n=3).to_dicts()


def _unless_unsupported(ask: Callable[..., object], *arguments: object) -> object:
    try:
        return ask(*arguments)
    except dmrank.UnsupportedError as error:
        return str(error)


def _use_index(file: Path) -> Answer:
    index = ApproximateIndex.load(file, model("MBPR"), probes=3)
    lists = index.recommend(list(ratings().users), n=5)
    return Answer(repr(lists.to_dicts()), lists)


def _make_checkpoint(folder: Path) -> Path:
    class _StopError(Exception):
        pass

    def stop(history: object) -> None:
        if len(history.iterations) == 2:  # type: ignore[attr-defined]
            raise _StopError

    with suppress(_StopError):
        _unfitted().fit(ratings(), checkpoint=folder, callback=stop)
    (file,) = folder.glob("*.checkpoint")
    return file


def _unfitted() -> Model:
    return dmrank.MBPR(factors=4, iterations=60, evaluate_every=20, seed=1, threads=1)


def _use_checkpoint(file: Path) -> Answer:
    folder = file.parent / "resumed"
    folder.mkdir()
    (folder / "training.checkpoint").write_bytes(file.read_bytes())
    fitted = _unfitted().fit(ratings(), checkpoint=folder)
    for left in folder.iterdir():
        left.unlink()
    folder.rmdir()
    lists = fitted.recommend(fitted.catalogue.users, n=5)
    return Answer(repr((lists.to_dicts(), fitted.history.iterations)), lists)


def _many_reviews() -> pl.DataFrame:
    texts = pl.concat([_REVIEWS] * 50)
    return texts.with_columns(
        pl.Series("user", [f"u{n}" for n in range(len(texts))]),
        pl.Series("overall", [1 + n % 3 * 2 for n in range(len(texts))]),
    )


def _use_polarity(file: Path) -> Answer:
    extracted = dmrank.extract_aspects(_REVIEWS, polarity=load_polarity(file), verbose=False)
    return Answer(repr(extracted.to_polars().to_dicts()), None)


def _take_apart(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def _put_together(header: dict[str, Any], content: bytes, *, forged: bool = True) -> bytes:
    """Write a header; a forged one has the checksum of what it says."""
    text = json.dumps(header, separators=(",", ":")).encode()
    start, digits = b'{"__metadata__":{"crc32":"', 8
    if forged and text.startswith(start):
        rest = text[len(start) + digits :]
        text = start + f"{zlib.crc32(rest):08x}".encode() + rest
    return len(text).to_bytes(8, "little") + text + content


def _edit_header(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """Change what the header says of an array, and leave the arrays as they are."""
    header, content = _take_apart(data)
    names = [name for name in header if name != "__metadata__"]
    name, other = rng.choice(names), rng.choice(names)
    entry = header[name]
    how = rng.randrange(9)
    if how == 0:
        entry["dtype"] = rng.choice(
            ["F32", "F64", "I32", "I64", "U8", "BOOL", "F16", "X9", 5, None]
        )
    elif how == 1:
        entry["shape"] = rng.choice(
            [
                [],
                [0],
                [1],
                [-1],
                [2**40],
                [2**63],
                entry["shape"][::-1],
                [*entry["shape"], 1],
                ["x"],
                None,
                [1.5],
                entry["shape"][:-1],
            ]
        )
    elif how == 2:
        begin, end = entry["data_offsets"]
        entry["data_offsets"] = rng.choice(
            [
                [end, begin],
                [begin + 1, end],
                [begin, end + 8],
                [-8, 0],
                [0, 2**62],
                None,
                [begin],
                [begin + 4, end + 4],
            ]
        )
    elif how == 3:
        del header[name]
    elif how == 4:
        header[rng.choice(["x", "catalogue.x", "best.x", ""])] = header.pop(name)
    elif how == 5:
        header[name], header[other] = header[other], header[name]
    elif how == 6:
        header["__metadata__"] = rng.choice(
            [None, {}, {"dmrank": "x"}, {"dmrank": "{}"}, [], {"dmrank": 5}]
        )
    elif how == 7:
        header["__metadata__"]["dmrank"] = _edit_metadata(rng, header["__metadata__"]["dmrank"])
    else:
        header[name] = rng.choice([None, [], {}, "x", 5])
    forged = rng.random() < 0.7
    return f"header, way {how}, array {name!r}", _put_together(header, content, forged=forged)


def _edit_metadata(rng: random.Random, text: str) -> str:
    content = json.loads(text)
    place: Any = content
    while isinstance(place, dict) and place and (place is content or rng.random() < 0.6):
        parent, key = place, rng.choice(list(place))
        place = place[key]
    if rng.random() < 0.3:
        del parent[key]
    else:
        parent[key] = rng.choice(_ODD_METADATA)
    return json.dumps(content)


def _rewrite(rng: random.Random, data: bytes, file: Path) -> str:
    """Write the file anew with something odd in it; checksums are those of what is in it."""
    from safetensors.numpy import load

    header, _ = _take_apart(data)
    arrays = {name: np.array(array) for name, array in load(data).items()}
    content = json.loads(header["__metadata__"]["dmrank"])
    if rng.random() < 0.25:
        content = json.loads(_edit_metadata(rng, json.dumps(content)))
        done = "metadata"
    else:
        name = rng.choice(list(arrays))
        done = _edit_array(rng, arrays, name)
    metadata, version, kind = (content.get(key) for key in ("metadata", "format", "content"))
    if isinstance(metadata, dict) and version == FILE_FORMAT and isinstance(kind, str):
        write_container(file, arrays, metadata, content=kind)
    else:
        header["__metadata__"]["dmrank"] = json.dumps(content)
        file.write_bytes(_put_together(header, _take_apart(data)[1]))
    return done


def _edit_array(rng: random.Random, arrays: dict[str, np.ndarray], name: str) -> str:
    array = arrays[name]
    how = rng.randrange(9)
    flat = array.reshape(-1)
    if how < 4 and flat.size:
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = np.array(rng.choice(_ODD_NUMBERS)).astype(array.dtype)
    elif how == 4:
        del arrays[name]
    elif how == 5:
        arrays[name] = array[: len(array) // 2] if array.ndim else array
    elif how == 6:
        arrays[name] = array.astype(
            rng.choice([np.float32, np.float64, np.int32, np.int64, np.uint8])
        )
    elif how == 7:
        arrays[name] = array.reshape(-1) if array.ndim > 1 else array[None]
    else:
        arrays[name] = (
            np.random.default_rng(rng.randrange(2**32)).permutation(flat).reshape(array.shape)
        )
    return f"array {name!r}, way {how}"
