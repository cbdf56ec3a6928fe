"""Sphinx's configuration of the site. `python -m docs.site` calls Sphinx with it, on the pages that `sources` collects.

Nothing that a page needs to be read comes from the network: furo takes the fonts of the system, and there is no
extension here that loads a script from elsewhere (so no MathJax).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.ext.napoleon import Config, GoogleDocstring

import neardup
import neardup.spark

project = "neardup"
version = release = neardup.__version__
copyright = "the authors of neardup, Apache-2.0"
html_title = f"neardup {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
templates_path = ["templates"]
exclude_patterns = ["files"]
myst_heading_anchors = 4  # as on GitHub
suppress_warnings = ["misc.highlighting_failure"]  # "…" in shown JSON, where something was left out

smartquotes = False  # it would make one dash of the two of an option

html_theme = "furo"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5394", "color-brand-content": "#0b5394"},
    "dark_css_variables": {"color-brand-primary": "#7db7f0", "color-brand-content": "#7db7f0"},
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
        "sidebar/versions.html",
    ]
}
html_use_index = False  # the page of Python names is one
html_copy_source = False
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
autodoc_member_order = "bysource"
nitpick_ignore_regex = [
    ("py:.*", r"(?!neardup\b).*"),  # of Python and of other libraries: shown, not linked, for their sites are elsewhere
    ("py:.*", r"neardup\.(?!spark\.)\w+\..*"),  # inside the package: not for users
]
_PUBLIC = {
    **{name: f"neardup.{name}" for name in neardup.__all__},
    **{name: f"neardup.spark.{name}" for name in neardup.spark.__all__ if name not in neardup.__all__},
}


def link_public(app: Any, env: Any, node: Any, shown: Any) -> Any:
    """A link to the page of a public class that a signature or docstring names by itself, or by where it is defined."""
    name = str(node.get("reftarget", "")).rpartition(".")[2]
    if node.get("refdomain") != "py" or name not in _PUBLIC or node["reftarget"] == _PUBLIC[name]:
        return None
    domain = env.domains.python_domain
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", _PUBLIC[name], node, shown)


def read_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn a docstring of Google's form into reStructuredText, by napoleon.

    Not as napoleon does it by itself: it takes what stands before a colon in the docstring of an attribute for a type,
    and a list of arguments that goes on in the next line for two.
    """
    if what == "attribute":
        return
    joined = re.sub(r"^( +(?:\w+, )*\w+,)\n +((?:\w+, )*\w+,?(?=:|\n))", r"\1 \2", "\n".join(lines), flags=re.MULTILINE)
    kind = "method" if what == "property" else what
    lines[:] = GoogleDocstring(joined, Config(napoleon_use_rtype=False), app, kind, name, thing, options).lines()


def setup(app: Any) -> None:
    """Register what is ours."""
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("missing-reference", link_public)
