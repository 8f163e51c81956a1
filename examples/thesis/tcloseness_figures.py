"""The figure of chapter 7: what is kept against t."""

from collections.abc import Callable

from matplotlib.figure import Figure

from examples.thesis.drawing import plt
from examples.thesis.tcloseness import FACTORS, on_census


def over_t() -> Figure:
    """The t reached, and loss and homogeneity."""
    found = [on_census(t) for t in FACTORS]
    asked = [float(t) for t in FACTORS]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(asked, [one.achieved for one in found], "o-", label="reached")
    left.plot(asked, asked, "--", color="gray", label="asked")
    left.set(xscale="log", yscale="log", xlabel="t asked", ylabel="t", title="Census, FEDTAX")
    left.legend()
    right.plot(asked, [one.loss for one in found], "o-", label="error of confidential values")
    right.plot(asked, [one.within for one in found], "s-", label="spread inside groups")
    right.plot(asked, [one.correlation for one in found], "^-", label="change of correlations")
    right.set(xscale="log", xlabel="t asked", ylabel="as a share of all", ylim=(0, None))
    right.legend()
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {"tcloseness_over_t": over_t}
