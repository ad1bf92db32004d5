"""A Sphinx extension: formulas become MathML while the pages are built, so that they show without a network."""

from __future__ import annotations

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(translator: HTML5Translator, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(translator: HTML5Translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math">{convert(_aligned(node.astext()), display="block")}</div>')
    raise nodes.SkipNode


def _aligned(latex: str) -> str:
    """Lines that are broken by hand become the rows of an alignment, as in other renderers of Sphinx."""
    is_broken = "\\\\" in latex and "\\begin" not in latex
    return f"\\begin{{aligned}}{latex}\\end{{aligned}}" if is_broken else latex
