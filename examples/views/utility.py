"""Privacy and utility of protected views, drawn: what a choice of method, k and epsilon costs, on Census.

    python -m examples.views.utility [--out FOLDER]

Figures go to examples/views/out and need the extra: pip install 'dpproxy[plots]'. They are made from the original
rows: an administrator's view of things, not an analyst's.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

from matplotlib.figure import Figure

from dpproxy.anonymize import measures
from dpproxy.anonymize.methods import METHODS
from dpproxy.anonymize.model import Attribute, OptionValue, Role, ViewRequest, silent
from examples.thesis.census import FOUR, Rows, census, declared
from examples.thesis.drawing import draw, plt

OUT = Path(__file__).with_name("out")
SIZES = (2, 5, 10, 25, 50, 100, 200)
EPSILONS = tuple(map(Fraction, ("0.1", "1", "10")))
PRIVATE = ("dp_kdtree", "dp_microaggregation", "dp_individual_ranking")
SYNTACTIC = ("mdav", "mdav_swap", "ir_swap")


def loss(method: str, options: dict[str, OptionValue]) -> dict[str, float]:
    """The figures of one build on four attributes; two of them are sensitive for swapping."""
    rows, attributes = _rows(method)
    made = METHODS[method].check(ViewRequest(attributes, options, 1000)).make(rows, os.urandom, silent)
    return measures.measured(rows, made, attributes, FOUR)


def _rows(method: str) -> tuple[Rows, tuple[Attribute, ...]]:
    rows = census(FOUR)
    roles = [Role.QUASI] * 2 + [Role.SENSITIVE] * 2 if method in SYNTACTIC[1:] else [Role.BOTH] * 4
    return rows, declared(rows, FOUR, roles)


def against_k() -> Figure:
    """Information lost against k, for several epsilon; MDAV, which is not differentially private, beside it."""
    figure, axes = plt.subplots(1, len(PRIVATE), figsize=(12, 4), layout="constrained", sharey=True)
    syntactic = [loss("mdav", {"k": k})["matched_information_loss"] for k in SIZES]
    for axis, method in zip(axes, PRIVATE, strict=True):
        for epsilon in EPSILONS:
            found = [loss(method, {"k": k, "epsilon": epsilon})["matched_information_loss"] for k in SIZES]
            axis.plot(SIZES, found, "o-", label=f"epsilon {float(epsilon):g}")
        axis.plot(SIZES, syntactic, ":", color="gray", label="mdav, not private")
        axis.axhline(1, linewidth=0.5, color="black")
        axis.set(xscale="log", yscale="log", xlabel="k", title=method)
    axes[0].set_ylabel("information loss (1: one middle for all)")
    axes[0].legend(fontsize="small")
    return figure


def risk_and_loss() -> Figure:
    """What an intruder may learn against what is lost: links for syntactic views, epsilon for private ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for method in SYNTACTIC:
        found = [loss(method, {"k": k}) for k in SIZES]
        risks = [figures["linkage_informed"] for figures in found]
        left.plot([figures["matched_information_loss"] for figures in found], risks, "o-", label=method)
    left.set(xscale="log", yscale="log", xlabel="information loss", ylabel="correct links, percent")
    left.set_title("by number of rows that are alike")
    for method in PRIVATE:
        found = [loss(method, {"epsilon": epsilon}) for epsilon in EPSILONS]
        losses = [figures["matched_information_loss"] for figures in found]
        right.plot(losses, [float(epsilon) for epsilon in EPSILONS], "o-", label=method)
    right.set(
        xscale="log", yscale="log", xlabel="information loss", ylabel="epsilon", title="by epsilon, k = auto"
    )
    for axis in (left, right):
        axis.legend(fontsize="small")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {"views_k": against_k, "views_risk_and_loss": risk_and_loss}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.views.utility", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--out", type=Path, default=OUT, metavar="FOLDER", help="where figures go")
    for path in draw(FIGURES, parser.parse_args(arguments).out):
        print(f"figure: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
