"""The version of the library, where every room can read it."""

__version__ = "0.1.0"
