"""Hurdle and DMR beside implicit, Cornac, RecTools and LensKit, each fitted by its own package."""
