"""Small tools that know nothing of ratings: errors, progress, files, containers, plots."""
