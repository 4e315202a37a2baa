"""The chart of the report on dialogues: hits after each round."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.evaluation.charts import COLOURS, FAINT, blank_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_Rows = Sequence[Mapping[str, Any]]

_HITS = ("hit@1", "hit@3", "hit@5")
_SHAPES = "osD^v"
_ASIDE = 0.06  # between the ways, whose intervals would hide each other


def hits_per_round(rows: _Rows) -> "Figure":
    """Hits at 1, 3 and 5 after each round with their 95 % intervals: a row of panels a set, a line a way.

    A way of a single row, such as a story told at once, is drawn across.
    """
    sets, ways = list(dict.fromkeys(row["set"] for row in rows)), list(dict.fromkeys(row["way"] for row in rows))
    figure = blank_figure(2.5 * len(sets) + 0.4)
    grid = figure.subplots(len(sets), len(_HITS), squeeze=False, sharey=True)
    for name, line in zip(sets, grid, strict=True):
        for measure, axes in zip(_HITS, line, strict=True):
            for place, way in enumerate(ways):
                own = [row for row in rows if (row["set"], row["way"]) == (name, way)]
                _draw(axes, own, measure, way, place)
            axes.set_title(f"{name}, {measure}", loc="left", fontsize=10, fontweight="bold")
            axes.set_ylim(0.0, 1.02)
            axes.grid(axis="y", color=FAINT, linewidth=0.8)
            axes.set_axisbelow(True)
    for axes in grid[-1]:
        axes.set_xlabel("round")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _draw(axes: "Axes", rows: _Rows, measure: str, way: str, place: int) -> None:
    colour = COLOURS[place % len(COLOURS)]
    if len(rows) == 1:
        axes.axhline(rows[0][measure], color=colour, linestyle="--", linewidth=1.4, label=way)
        return
    rounds, means = [row["round"] for row in rows], [row[measure] for row in rows]
    below = [max(row[measure] - row[f"{measure}_low"], 0.0) for row in rows]
    above = [max(row[f"{measure}_high"] - row[measure], 0.0) for row in rows]
    axes.errorbar(
        [at + place * _ASIDE for at in rounds],
        means,
        yerr=[below, above],
        fmt=f"-{_SHAPES[place % len(_SHAPES)]}",
        color=colour,
        capsize=3,
        linewidth=1.8,
        markersize=5,
        label=way,
    )
    axes.set_xticks(rounds)
