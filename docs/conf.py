"""How the site is built: `python -m sphinx -W --keep-going -b html docs site` (extra `docs`).

The theme is furo: its one column of navigation tells Learn, How to, Theory, Reference and Gallery apart, on a phone too, where
pydata-sphinx-theme hides them in a menu. It writes nothing to the console, where pydata-sphinx-theme reports an error on
every first visit.

Pages that come from the program (public names, commands, keys of a problem, errors, the gallery) are written by the modules
in `builders/` before Sphinx reads anything. MathJax is copied from a package of the index: the site asks no other host.
"""

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from builders import gallery, pages  # noqa: E402

from dimfree import __version__  # noqa: E402

project, author, copyright = "dimfree", "The dimfree developers", "the dimfree developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinx_design"]
extensions += ["course", "live_pages"]  # beside this file: notebooks and live pages of the course
exclude_patterns = ["builders", "static", "gallery/records", "*.ipynb", "learn/*.ipynb"]
nitpicky = True
suppress_warnings = ["myst.header"]  # sections may begin at any level

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 4  # links such as page.md#a-heading, as GitHub makes them
myst_dmath_double_inline = True
myst_dmath_allow_labels = False

html_theme = "furo"
html_title = "dimfree"
pygments_style, pygments_dark_style = "friendly", "one-dark"
html_static_path = ["static"]
html_css_files = ["dimfree.css"]
html_favicon = "static/favicon.svg"
html_extra_path = ["live.html"]  # a saved page of the lab, as it is
html_copy_source = False
html_show_sphinx = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

mathjax_path = "mathjax/tex-chtml.js"


def setup(app):
    """Write the generated pages, link the names of figures, and put MathJax beside the other static files."""
    app.connect("builder-inited", lambda app: pages.write(HERE))
    app.connect("source-read", gallery.link_names)
    app.connect("build-finished", _copy_mathjax)


def _copy_mathjax(app, failure):
    if failure is None and app.builder.format == "html":
        package = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
        folder = Path(app.outdir) / "_static" / "mathjax"
        fonts = "output/chtml/fonts/woff-v2"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(package / "tex-chtml.js", folder)
        shutil.copytree(package / fonts, folder / fonts, dirs_exist_ok=True)
