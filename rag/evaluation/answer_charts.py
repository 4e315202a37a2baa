"""The charts of reports on answers: boxes of counts, a matrix of differences, means with their intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.evaluation.charts import COLOURS, FAINT, blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ACROSS = 3  # panels beside each other
_PANEL = 2.7  # inches


def boxes(values: Mapping[str, Mapping[str, Sequence[float]]], titles: Mapping[str, str]) -> "Figure":
    """Box plots, a panel a measure and a box a group: median, quartiles, whiskers at 1.5 times their distance, mean as a mark.

    Args:
        values: By group and measure.
        titles: The measures that are shown, with the title of their panel.
    """
    from matplotlib.ticker import MaxNLocator

    figure, panels = _panels(list(titles.values()))
    groups = list(values)
    for axes, measure in zip(panels, titles, strict=True):
        drawn = axes.boxplot(
            [values[group][measure] for group in groups],
            tick_labels=groups,
            patch_artist=True,
            showmeans=True,
            widths=0.6,
            medianprops={"color": "#222222", "linewidth": 1.6},
            meanprops={"marker": "D", "markerfacecolor": "white", "markeredgecolor": "#222222", "markersize": 5},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": "#888888"},
        )
        for place, box in enumerate(drawn["boxes"]):
            box.set_facecolor(COLOURS[place % len(COLOURS)])
            box.set_alpha(0.55)
        axes.tick_params(axis="x", labelsize=8)
        axes.margins(y=0.08)
        _grid(axes, "y")
        if all(float(one).is_integer() for group in groups for one in values[group][measure]):
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def matrix(names: Sequence[str], cells: Sequence[Sequence[float]]) -> "Figure":
    """A matrix of differences, row minus column: violet where the row has more, orange where the column has."""
    figure = blank_figure(1.4 + 0.75 * len(names))
    axes = figure.subplots()
    reach = max((abs(cell) for row in cells for cell in row), default=0.0) or 1.0
    axes.imshow([list(row) for row in cells], cmap="PuOr", vmin=-reach, vmax=reach, aspect="auto")
    for down, row in enumerate(cells):
        for across, cell in enumerate(row):
            dark = abs(cell) > 0.6 * reach
            axes.text(across, down, f"{cell:+.3f}", ha="center", va="center", color="white" if dark else "#222222")
    axes.set_xticks(range(len(names)), names)
    axes.set_yticks(range(len(names)), names)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    return figure


def means(rows: Sequence[Mapping[str, Any]], group: str, measures: Mapping[str, str], limits: tuple[float, float]) -> "Figure":
    """Means with their 95 % intervals, a panel a measure and a line a group.

    Args:
        rows: With `group` as a key, and each measure, `…_low` and `…_high`; None where nothing is drawn.
        group: The key of the name of a row.
        measures: The measures that are shown, with the title of their panel.
        limits: The axis of all panels.
    """
    figure, panels = _panels(list(measures.values()), height=1.1 + 0.34 * len(rows))
    for axes, measure in zip(panels, measures, strict=True):
        for place, row in enumerate(rows):
            mean = row[measure]
            if mean is None:
                continue
            reach = [[max(mean - row[f"{measure}_low"], 0.0)], [max(row[f"{measure}_high"] - mean, 0.0)]]
            axes.errorbar(mean, place, xerr=reach, fmt="o", color=COLOURS[place % len(COLOURS)], capsize=4, linewidth=1.8)
        axes.set_yticks(range(len(rows)), [row[group] for row in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(*limits)
        _grid(axes, "x")
    return figure


def _panels(titles: Sequence[str], height: float = _PANEL) -> "tuple[Figure, list[Axes]]":
    across = min(_ACROSS, len(titles))
    down = math.ceil(len(titles) / across)
    figure = blank_figure(height * down)
    grid = list(figure.subplots(down, across, squeeze=False).flat)
    for spare in grid[len(titles) :]:
        spare.set_visible(False)
    for axes, title in zip(grid, titles, strict=False):
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
    return figure, grid[: len(titles)]


def _grid(axes: "Axes", axis: Any) -> None:  # noqa: ANN401 - Matplotlib's own literal
    axes.grid(axis=axis, color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
