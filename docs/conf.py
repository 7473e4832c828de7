"""The documentation site: `make docs` builds it, offline and with warnings as errors."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "dmrank"
author = "The dmrank developers"
copyright = "The dmrank developers, Apache-2.0"  # noqa: A001 (as Sphinx calls it)
release = version = version_of("dmrank")

extensions = [
    "accessible_html",
    "failing_cells",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "plain_math",
    "quiet_kernels",
    "reference",
    "repository_links",
    "tutorial_files",
]
exclude_patterns = ["conf.py", "_ext", "_static", "results/figures"]

# Pages.
source_suffix = {".md": "myst-nb", ".py": "myst-nb"}
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist"]
myst_heading_anchors = 3

# Tutorials: Python files that are run whenever the site is built, each in a folder of its own.
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 240
nb_execution_raise_on_error = False  # the first that fails does not hide the others
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # what is said on the way: compiling, bars

# Reference.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name for name in ("ArrayLike", "By", "Codes", "Float32s", "Floats", "Id", "Int64s")
}
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
# Types in docstrings are words ("array, users × items"): that some are names, too, is chance.
suppress_warnings = ["ref.python"]

# Looks.
html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"dmrank {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sphinx = False
html_copy_source = False
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c8f",
        "color-brand-content": "#0b5c8f",
        "color-brand-visited": "#5b3f8f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4f5",
        "color-brand-content": "#7cc4f5",
        "color-brand-visited": "#c3a6f5",
    },
}
