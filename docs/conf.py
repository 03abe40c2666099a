"""Sphinx configuration: pages in Markdown, the reference from the docstrings, a gallery of scripts that run."""

from importlib.util import find_spec

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from recolorist._version import __version__

project = "Recolorist"
author = "Recolorist contributors"
copyright = "2026, Recolorist contributors"  # noqa: A001  (Sphinx asks for this name)
release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
exclude_patterns = ["sg_execution_times.rst"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "description"
# The reference describes adapters of frameworks that need not be installed to build it.
_FRAMEWORKS = ("albumentations", "datasets", "kornia", "lightning", "monai", "timm", "torch", "torchvision")
autodoc_mock_imports = [name for name in _FRAMEWORKS if find_spec(name) is None]
napoleon_numpy_docstring = False
napoleon_custom_sections = ["Targets", "Image types", "Number of channels", "Shape"]  # of Albumentations' and Kornia's docstrings
napoleon_use_ivar = True  # an attribute described in the class docstring is not indexed a second time

html_theme = "furo"
pygments_dark_style = "github-dark"  # the theme's own underlines modules like links
html_title = f"Recolorist {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["charts.css", "formulas.css", "width.css"]
html_js_files = ["scroll.js"]

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,  # a page that does not run is a broken page
    "capture_repr": (),  # what is printed is shown, not the name of the last object
    "show_memory": False,
    "write_computation_times": False,  # that page would fetch scripts from elsewhere
    "show_signature": False,
    "download_all_examples": False,
    "image_scrapers": ("matplotlib",),
}


def _write_math(translator: HTML5Translator, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML, which browsers show without fetching anything."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the writer of formulas."""
    app.add_html_math_renderer("mathml", (_write_math, None), (_write_math, None))
