# SPDX-License-Identifier: MIT
"""Sphinx's settings for the book; `make docs` calls Sphinx with them (build.py)."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "convlab"
html_title = os.environ.get("CONVLAB_EDITION", "convlab")
root_doc = "README"
extensions = ["myst_nb", "mathml"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # build.py has run the notebooks
nb_merge_streams = True
suppress_warnings = [
    "myst.header",  # a page may begin below level 1
    "misc.highlighting_failure",  # blocks of sessions hold more than one language
]
highlight_language = "none"
html_theme = "furo"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_permalinks_icon = "#"
html_static_path = ["static"]
html_css_files = ["book.css"]
