"""Checks of a release, and recipes for package indexes."""
