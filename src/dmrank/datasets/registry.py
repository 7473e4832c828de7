"""The public corpora that dmrank knows by name."""

from __future__ import annotations

from dmrank.datasets import beer, hotelrec, tripadvisor, yahoo, yelp
from dmrank.datasets.corpus import Corpus
from dmrank.support.errors import ConfigError, did_you_mean

_MCAULEY = "https://mcauleylab.ucsd.edu/public_datasets/data/beer"
_MCAULEY_BEFORE = "https://datarepo.eng.ucsd.edu/mcauley_group/data/beer"
_LARA = "Data/LARA/TripAdvisor/TripAdvisorJson.tar.bz2"

# The publishers give no checksums; those of the beer files are the ones that OmniRec, which loads
# them from the same place, has on record.
CORPORA = {
    corpus.name: corpus
    for corpus in (
        Corpus(
            "beeradvocate",
            beer.convert_beeradvocate,
            "it is at https://cseweb.ucsd.edu/~jmcauley/datasets.html (beeradvocate.json.gz)",
            urls=(f"{_MCAULEY}/beeradvocate.json.gz", f"{_MCAULEY_BEFORE}/beeradvocate.json.gz"),
            sha256="1e62c122f3645e46bffa6fd00d5d8b46ee4f61dc01fc8a60b0c35be16c2315a8",
        ),
        Corpus(
            "ratebeer",
            beer.convert_ratebeer,
            "it is at https://cseweb.ucsd.edu/~jmcauley/datasets.html (ratebeer.json.gz)",
            urls=(f"{_MCAULEY}/ratebeer.json.gz", f"{_MCAULEY_BEFORE}/ratebeer.json.gz"),
            sha256="f3b2569d23a831017f2d199ace85bb49d8c088e2ebff55d91f49a2a4d44efd74",
        ),
        Corpus(
            "tripadvisor",
            tripadvisor.convert,
            "it is the LARA data of Hongning Wang (TripAdvisorJson.tar.bz2)",
            urls=(
                f"http://times.cs.uiuc.edu/~wang296/{_LARA}",
                f"https://www.cs.virginia.edu/~hw5x/{_LARA}",
            ),
        ),
        Corpus(
            "hotelrec",
            hotelrec.convert,
            "its authors hand it out through https://github.com/Diego999/HotelRec",
        ),
        Corpus(
            "yahoo-movies",
            yahoo.convert,
            "request it from Yahoo! Webscope (https://webscope.sandbox.yahoo.com, data set R4), or "
            "the multi-criteria table from the authors of Lakiotaki et al. 2011",
            has_text=False,
        ),
        Corpus(
            "yelp",
            yelp.convert,
            "accept Yelp's terms and download it at https://www.yelp.com/dataset "
            "(yelp_academic_dataset_review.json)",
        ),
    )
}


def find(name: str) -> Corpus:
    """Return a corpus by its name."""
    try:
        return CORPORA[name]
    except KeyError:
        hint = did_you_mean(str(name), CORPORA)
        raise ConfigError(f"dataset {name!r} is not known; {hint}") from None


def names() -> list[str]:
    """Return the names that :func:`load` knows.

    Examples
    --------
    >>> names()
    ['beeradvocate', 'hotelrec', 'ratebeer', 'tripadvisor', 'yahoo-movies', 'yelp']
    """
    return sorted(CORPORA)
