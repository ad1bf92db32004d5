"""Charts and pages, made from records."""

from compsparse.report.figure import Figure
from compsparse.report.page import Section, render_page, table, write_page

__all__ = ["Figure", "Section", "render_page", "table", "write_page"]
