"""The charts of reports on retrieval and on abstention.

Colours keep apart for the colour-blind too (Okabe and Ito 2008), and so do shapes.
"""

import io
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.evaluation.datasets import ALL_SETS
from rag.evaluation.metrics import KS
from rag.evaluation.stage_clock import in_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#4d4d4d", "#8a8f00", "#7b3294", "#a6611a")
_SHAPES = "osD^vPX<>*"
_INK, FAINT = "#222222", "#dddddd"
_WIDTH = 9.0  # inches
_ACROSS = 2  # panels beside each other
_MOST_PANELS = 8  # the largest sets; the table has them all
_LONGEST_NAME = 40
_LEAST_MARK, _MOST_MARK = 18.0, 90.0  # points²
_ASIDE = 0.045  # between curves: equal ones would hide each other

STYLE: Any = {
    "svg.fonttype": "path",  # looks the same wherever it is opened
    "svg.hashsalt": "salus",  # the same figures give the same file
    "text.parse_math": False,  # "$" in the name of a set is a dollar
    "font.size": 10,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": _INK,
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def hit_curves(rows: Rows) -> "Figure":
    """Hit@k by configuration, a panel a set: how far down a reader would have to look."""
    figure, panels = _panels(rows, height=3.0)
    configs = _configs(rows)
    low = _floor(min(row["hit@1"] for row in rows))
    for name, axes in panels.items():
        for row in (row for row in rows if row["set"] == name):
            place = configs.index(row["config"])
            aside = (place - (len(configs) - 1) / 2) * _ASIDE
            axes.plot(
                [at + aside for at in range(len(KS))],
                [row[f"hit@{k}"] for k in KS],
                color=COLOURS[place % len(COLOURS)],
                marker=_SHAPES[place % len(_SHAPES)],
                markersize=6,
                markeredgecolor="white",
                linewidth=1.8,
                label=row["config"],
            )
        axes.set_xticks(range(len(KS)), [f"hit@{k}" for k in KS])
        axes.set_xlim(-0.3, len(KS) - 0.7)
        axes.set_ylim(low, 1.015)
        axes.grid(axis="y", color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
    _legend(figure, next(iter(panels.values())))
    return figure


def rank_intervals(rows: Rows) -> "Figure":
    """MRR@10 with its 95 % interval by configuration, a panel a set."""
    configs = _configs(rows)
    figure, panels = _panels(rows, height=0.9 + 0.32 * len(configs))
    low = _floor(min(row["mrr@10_low"] for row in rows))
    high = min(1.0, math.ceil(max(row["mrr@10_high"] for row in rows) * 20 + 0.2) / 20)
    for name, axes in panels.items():
        for row in (row for row in rows if row["set"] == name):
            place = configs.index(row["config"])
            mean = row["mrr@10"]
            reach = [[max(mean - row["mrr@10_low"], 0.0)], [max(row["mrr@10_high"] - mean, 0.0)]]
            colour = COLOURS[place % len(COLOURS)]
            axes.errorbar(
                mean, place, xerr=reach, fmt=_SHAPES[place % len(_SHAPES)], color=colour, capsize=4, linewidth=1.8, markersize=7
            )
            axes.annotate(f"{mean:.3f}", (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=9)
        axes.set_yticks(range(len(configs)), configs)
        axes.set_ylim(len(configs) - 0.5, -0.5)
        margin = (high - low) * 0.02
        axes.set_xlim(low - margin, high + margin)
        axes.grid(axis="x", color=FAINT, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_xlabel("MRR@10")
    return figure


def stage_times(rows: Rows) -> "Figure":
    """Half of all questions' milliseconds by stage and configuration, and a mark at what 95 of 100 do not exceed."""
    counted = [row for row in rows if row["set"] == ALL_SETS]
    stages = in_order(stage for row in counted for stage in row["stages"])
    figure = blank_figure(1.5 + 0.42 * len(counted))
    axes = figure.subplots()
    left = [0.0] * len(counted)
    for place, stage in enumerate(stages):
        widths = [row["stages"].get(stage, {}).get("p50_ms", 0.0) for row in counted]
        colour = COLOURS[place % len(COLOURS)]
        axes.barh(range(len(counted)), widths, left=left, color=colour, edgecolor="white", height=0.62, label=stage)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    slow = [row["p95_ms"] for row in counted]
    axes.plot(slow, range(len(counted)), "|", color=_INK, markersize=16, markeredgewidth=2, label="all stages, 95 of 100")
    axes.set_yticks(range(len(counted)), [row["config"] for row in counted])
    axes.set_ylim(len(counted) - 0.5, -0.5)
    axes.set_xlim(0, max([*slow, *left, 0.1]) * 1.05)
    axes.set_xlabel("milliseconds a question")
    axes.grid(axis="x", color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)
    _legend(figure, axes)
    return figure


def roc_curves(languages: Rows) -> "Figure":
    """Shares of questions answered that should be, by that of those that should not, a panel a language.

    Args:
        languages: Rows with `language`, `auc` and `roc` (area and points by kind) and `chosen` (the point of each kind at the
            index's threshold, which is marked).
    """
    figure = blank_figure(4.4)
    grid = figure.subplots(1, len(languages), squeeze=False)[0]
    for axes, row in zip(grid, languages, strict=True):
        areas = ", ".join(f"{_kind(kind)} {one['area']:.3f}" for kind, one in row["auc"].items())
        axes.set_title(f"{row['language']}: area {areas}", loc="left", fontsize=9, fontweight="bold")
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=1)
        for place, (kind, points) in enumerate(row["roc"].items()):
            across, up = zip(*points, strict=True)
            axes.plot(across, up, color=COLOURS[place], linewidth=1.8, label=_kind(kind), drawstyle="steps-post", zorder=2)
            axes.plot(
                *row["chosen"][kind],
                _SHAPES[place],
                color=COLOURS[place],
                markersize=9,
                markeredgecolor="white",
                label=f"{_kind(kind)}, chosen threshold",
                zorder=3,
            )
        _square(axes, 0.02, "answered, of questions that no page answers")
    grid[0].set_ylabel("answered, of covered questions")
    _legend(figure, grid[0])
    return figure


def reliability_curves(languages: Rows) -> "Figure":
    """What came true of probabilities, tenth by tenth, a panel a language; the larger a mark, the more probabilities.

    Args:
        languages: Rows with `language` and `reliability` (by figure its `bins`, each with `n`, `predicted`, `observed`).
    """
    figure = blank_figure(4.4)
    grid = figure.subplots(1, len(languages), squeeze=False)[0]
    for axes, row in zip(grid, languages, strict=True):
        axes.set_title(row["language"], loc="left", fontsize=10, fontweight="bold")
        axes.plot([0, 1], [0, 1], color="#888888", linewidth=1.0, linestyle="--", label="as it should be", zorder=1)
        for place, (name, told) in enumerate(row["reliability"].items()):
            predicted = [one["predicted"] for one in told["bins"]]
            observed = [one["observed"] for one in told["bins"]]
            most = max(one["n"] for one in told["bins"])
            sizes = [_LEAST_MARK + _MOST_MARK * one["n"] / most for one in told["bins"]]
            axes.plot(predicted, observed, color=COLOURS[place], linewidth=1.4, zorder=2)
            axes.scatter(
                predicted,
                observed,
                sizes,
                color=COLOURS[place],
                marker=_SHAPES[place],
                edgecolors="white",
                label=name,
                zorder=3,
            )
        _square(axes, 0.04, "probability told, mean of a tenth")
    grid[0].set_ylabel("share that came true")
    _legend(figure, grid[0])
    return figure


def _square(axes: "Axes", margin: float, across: str) -> None:
    """Shares both ways."""
    axes.set_xlim(-margin, 1 + margin)
    axes.set_ylim(-margin, 1 + margin)
    axes.set_aspect("equal")
    axes.set_xlabel(across)
    axes.grid(color=FAINT, linewidth=0.8)
    axes.set_axisbelow(True)


def svg(figure: "Figure") -> str:
    """A figure as the text of an SVG file, without the time at which it was made."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a letter that the font lacks is shown as a box, and that is all
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def _panels(rows: Rows, height: float) -> "tuple[Figure, dict[str, Axes]]":
    """A panel for each of the largest sets, `all` last as in the table; of a single set, one panel."""
    sizes = {row["set"]: row["n"] for row in rows}
    named = [name for name in sizes if name != ALL_SETS]
    largest = set(sorted(named, key=lambda name: -sizes[name])[: _MOST_PANELS - 1])
    shown = [name for name in named if name in largest] + ([ALL_SETS] if len(named) != 1 else [])
    across = min(_ACROSS, len(shown))
    down = math.ceil(len(shown) / across)
    figure = blank_figure(height * down + 0.4)
    grid = figure.subplots(down, across, squeeze=False)
    panels = dict(zip(shown, grid.flat, strict=False))
    for spare in list(grid.flat)[len(shown) :]:
        spare.set_visible(False)
    for name, axes in panels.items():
        axes.set_title(f"{_cut(name)} ({sizes[name]} questions)", loc="left", fontsize=10, fontweight="bold")
    return figure, panels


def blank_figure(height: float) -> "Figure":
    """A figure as wide as a page, so many inches high."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.1, wspace=0.04, hspace=0.04)
    return Figure(figsize=(_WIDTH, height), layout=layout, facecolor="white")


def _legend(figure: "Figure", axes: "Axes") -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 5), frameon=False)


def _configs(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["config"] for row in rows))


def _kind(name: str) -> str:
    return name.replace("_", " ")


def _floor(value: float) -> float:
    """The round figure below a value at which an axis begins."""
    return max(0.0, math.floor(value * 10 - 0.2) / 10)


def _cut(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
