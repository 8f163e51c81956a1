"""The figures of chapter 6: error against k of the thesis' build, and error against epsilon of all."""

from collections.abc import Callable
from fractions import Fraction

from matplotlib.figure import Figure

from examples.thesis.drawing import plt
from examples.thesis.microaggregation import METHODS_HERE, PUBLISHED, mean_alone, ours, thesis

BUILDS = 2
SIZES = (2, 5, 10, 25, 50, 100, 200)
ALONG = tuple(map(Fraction, ("0.1", "0.3", "1", "3", "10")))


def against_k() -> Figure:
    """The thesis' build at every k, beside private boundaries, which choose their own."""
    figure, axis = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for place, epsilon in enumerate(PUBLISHED):
        label = f"epsilon {float(epsilon):g}"
        found = [thesis(epsilon, k, 1).mean for k in SIZES]
        axis.plot(SIZES, found, "--", color=f"C{place}", label=f"thesis (not private), {label}")
        least = ours("private boundaries", epsilon, BUILDS).mean
        axis.axhline(least, color=f"C{place}", label=f"private boundaries, {label}")
    axis.set(xscale="log", yscale="log", xlabel="k", ylabel="matched squared error")
    axis.legend(fontsize="small")
    return figure


def against_epsilon() -> Figure:
    """Every method with k chosen by itself."""
    figure, axis = plt.subplots(figsize=(6.5, 4.2), layout="constrained")
    for name in METHODS_HERE:
        axis.plot(ALONG, [ours(name, epsilon, BUILDS).mean for epsilon in ALONG], "o-", label=name)
    axis.plot(
        ALONG,
        [mean_alone(epsilon, BUILDS).mean for epsilon in ALONG],
        ":",
        color="gray",
        label="noisy mean alone",
    )
    axis.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="matched squared error")
    axis.legend(fontsize="small")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "microaggregation_k": against_k,
    "microaggregation_epsilon": against_epsilon,
}
