"""Sphinx settings; warnings are errors in `make docs`."""

import sys
from pathlib import Path

import compsparse

sys.path.insert(0, str(Path(__file__).parent))

project = "compsparse"
author = "the compsparse developers"
copyright = "2026, the compsparse developers"
version = release = compsparse.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
nb_execution_mode = "off"  # `make notebooks` runs them, and a heavy test compares
nb_ipywidgets_js = {}  # no script from elsewhere
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "compsparse"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]
