"""A long extraction kept in parts, so that a killed run continues where it was.

Parts lie in a folder beside the result until it is written. They carry what identifies the run, so
that parts of runs with different settings are never mixed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from dmrank.data.reading.tables import UNREADABLE
from dmrank.support.claims import claim_folder, parts_folder
from dmrank.support.errors import DataError
from dmrank.support.files import write_table
from dmrank.text.extractor import Summary

#: Reviews in one part on disk: what a killed run loses, a few seconds of work.
PART: Final = 20_480
_POLARITY: Final = "polarity"
_PART: Final = "part-{:012d}.parquet"
_ROWS, _SUMMARY = "dmrank.reviews", "dmrank.summary"


class Parts:
    """The parts of one extraction.

    Parameters
    ----------
    target : Path
        The file that the parts become.
    run : mapping of str to JSON value
        What identifies the run. Parts of another run are refused.

    Attributes
    ----------
    folder : Path
        Where the parts are: the name of the target with `.parts`.
    reviews : int
        How many reviews are done.
    summary : Summary
        What was found in them.
    """

    def __init__(self, target: Path, run: Mapping[str, Any]) -> None:
        self.target = target
        self.folder = parts_folder(target)
        self.reviews, self.summary = 0, Summary()
        self._files: list[Path] = []
        claim_folder(self.folder, run)
        for path in sorted(self.folder.glob("part-*.parquet")):
            try:
                metadata = pl.read_parquet_metadata(path)
                done, summary = int(metadata[_ROWS]), Summary(**json.loads(metadata[_SUMMARY]))
            except (*UNREADABLE, KeyError, TypeError, ValueError):
                raise DataError(
                    f"{path} is damaged: remove the folder {self.folder} to start anew"
                ) from None
            self._take(path, done, summary)

    @property
    def polarity_file(self) -> Path:
        """Where the polarity that the parts were extracted with is kept."""
        return self.folder / _POLARITY

    def _take(self, path: Path, reviews: int, summary: Summary) -> None:
        self._files.append(path)
        self.reviews += reviews
        self.summary.add(summary)

    def add(self, frame: pl.DataFrame, summary: Summary) -> None:
        """Keep the ratings of the reviews that follow those that are done."""
        path = self.folder / _PART.format(self.reviews)
        counts = {_ROWS: str(summary.reviews), _SUMMARY: json.dumps(summary.to_dict())}
        write_table(frame, path, metadata=counts)
        self._take(path, summary.reviews, summary)

    def finish(self, metadata: Mapping[str, str], *, safe_cells: bool = False) -> Path:
        """Write the parts into the target, whole or not at all, and remove them."""
        filled = [path for path in self._files if _height(path)]
        if not filled:
            self.remove()
            raise DataError(
                f"nothing to extract in any of {self.summary.reviews:,} reviews; is this the "
                "column with the text, and the right lexicon?"
            )
        rows = pl.scan_parquet(filled, glob=False)
        write_table(rows, self.target, metadata=metadata, safe_cells=safe_cells)
        self.remove()
        return self.target

    def remove(self) -> None:
        """Delete the parts."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _height(path: Path) -> int:
    return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
