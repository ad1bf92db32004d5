"""Charts and pages, made from records."""

from compsparse.report.bounds_report import bounds_figure, bounds_page
from compsparse.report.dynamics_charts import dynamics_figures
from compsparse.report.figure import Figure
from compsparse.report.importance_charts import importance_figures
from compsparse.report.page import Section, render_page, table, write_page
from compsparse.report.simulator_report import simulator_page
from compsparse.report.terminal_chart import text_chart

__all__ = [
    "Figure",
    "Section",
    "bounds_figure",
    "bounds_page",
    "dynamics_figures",
    "importance_figures",
    "render_page",
    "simulator_page",
    "table",
    "text_chart",
    "write_page",
]
