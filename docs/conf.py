"""Settings of the documentation site; `make docs` builds it.

The source folder is the whole repository, so that links between pages, results and examples are the same on the site
and in the repository. `extensions/` holds what is ours: the reference of commands, and notebooks to download.
"""

import os
import re
import sys
from pathlib import Path

from tesselite import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "tesselite"
author = "The tesselite developers"
project_copyright = "The tesselite developers. Apache 2.0"
release = version = __version__

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "results/*/report.md",
    "benchmarks/README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = [".*", "build", "dist", "src", "tests", "tools", "demo", "runs", "docs/extensions", "**/work"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "command_reference",
    "downloads",
]

# Pages
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = True
suppress_warnings = ["myst.header"]  # generated reports may begin with any level

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # regardless of the shell's setting
# Notebooks: text files that are executed in a folder of their own.
nb_execution_mode = "auto"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_output_stderr = "remove"  # that something is compiled, and where it is kept

# Docstrings are prose with names in backticks: a link where the name is public, code where it is not.
default_role = "py:obj"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
_ALIASES = ("npt.ArrayLike", "npt.DTypeLike", "Floats", "Ints", "Rows", "Variation")
autodoc_type_aliases = {name: name for name in _ALIASES}
napoleon_numpy_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
maximum_signature_line_length = 90
add_module_names = False

# Look
html_theme = "pydata_sphinx_theme"
html_title = "tesselite documentation"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"docs/index": [], "docs/how-do-i": []}
html_theme_options = {
    "logo": {"text": "tesselite", "image_light": "_static/icon.svg", "image_dark": "_static/icon.svg"},
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc", "notebook-download"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
templates_path = ["_templates"]


def readable(app, what, name, value, options, signature, returns):
    """Signatures with short names of array types; a class that is written as a function does not return None."""
    for text, short in _SHORT.items():
        signature = signature and re.sub(text, short, signature)
        returns = returns and re.sub(text, short, returns)
    return signature, None if isinstance(value, type) else returns


_SHORT = {
    r"TypeAliasForwardRef\('(?:npt\.)?(\w+)'\)": r"\1",
    r"~?(?:numpy\.)?ndarray\[tuple\[.*?Any, \.\.\.\], ~?(?:numpy\.)?dtype\[\W*(?:\w+\.)?(\w+)\]\]": r"NDArray[\1]",
}


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", readable)
