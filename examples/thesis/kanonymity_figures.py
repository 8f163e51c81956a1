"""The figures of chapters 2 and 3: change of correlations against k, and risk against loss."""

from collections.abc import Callable

from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from examples.thesis.drawing import plt
from examples.thesis.kanonymity import PRINTED, SIZES, TITLES, change, microaggregated


def correlations() -> Figure:
    """Each method as the thesis has it, and with distances by declared widths."""
    figure, axis = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for place, (name, printed) in enumerate(PRINTED.items()):
        color = f"C{place}"
        axis.plot(SIZES, [change(name, k).mean for k in SIZES], color=color, label=TITLES[name])
        axis.plot(SIZES, [float(mean) for mean in printed], "o", color=color, fillstyle="none")
        if name != "ir_swap":
            scaled = [change(name, k, "range").mean for k in SIZES]
            axis.plot(SIZES, scaled, "--", color=color, label=f"{TITLES[name]}, by declared widths")
    axis.plot([], [], "o", color="gray", fillstyle="none", label="thesis")
    axis.set(xscale="log", yscale="log", xlabel="k", ylabel="mean change of correlations")
    axis.legend()
    return figure


def risk_and_loss() -> Figure:
    """MDAV on four attributes: every k is one point between linking all and telling nothing."""
    figure, axis = plt.subplots(figsize=(6, 4.2), layout="constrained")
    found = list(microaggregated((2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100)))
    axis.plot([one.error for one in found], [one.links for one in found], "o-")
    for one in found:
        axis.annotate(f"k = {one.k}", (one.error, one.links), xytext=(4, 4), textcoords="offset points")
    axis.set(xscale="log", yscale="log", xlabel="sum of squared errors", ylabel="correct links, percent")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_title("MDAV on Census: risk against loss")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "kanonymity_correlations": correlations,
    "kanonymity_risk_and_loss": risk_and_loss,
}
