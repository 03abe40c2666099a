"""Sphinx configuration: pages in Markdown, the reference from the docstrings."""

from recolorist._version import __version__

project = "Recolorist"
author = "Recolorist contributors"
copyright = "2026, Recolorist contributors"  # noqa: A001  (Sphinx asks for this name)
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
napoleon_numpy_docstring = False
napoleon_use_ivar = True  # an attribute described in the class docstring is not indexed a second time

html_theme = "furo"
html_title = f"Recolorist {release}"
