"""The figures of chapter 5: priors and what they become, and the choice of a_u."""

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from examples.thesis.drawing import plt
from udfs import priors
from udfs.mechanisms.refinement import Refinement
from udfs.priors import WHOLE, Prior
from udfs.privacy import NANO


def _density(axis: Axes, prior: Prior, law: list[float], **style: str) -> None:
    """Probabilities per unit of the values, without those of weight 0."""
    values = np.array(prior.values)
    axis.plot(values, np.array(law) / np.gradient(values), **style)


def _plain(prior: Prior) -> list[float]:
    return [weight / WHOLE for weight in prior.weights]


def _refined(refinement: Refinement, truth: float) -> list[float]:
    return [float(p) for p in refinement.pmf(truth)]


def uniform() -> Figure:
    """One person's value in [0, 1]."""
    prior = priors.uniform(0, 1)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
    for axis, truth in zip(axes, (0.5, 0.2, 0.02), strict=True):
        for epsilon in (0.1, 1, 2):
            refinement = Refinement.individual(prior, round(epsilon * NANO))
            law = np.array(_refined(refinement, truth)) / np.array(_plain(prior))
            axis.plot(prior.values, law, label=f"epsilon {epsilon:g}")
        axis.axhline(1, color="grey", linestyle="--", label="prior")
        axis.set(title=f"truth {truth:g}", xlabel="answer")
    axes[0].set_ylabel("density")
    axes[0].legend()
    return figure


def normal() -> Figure:
    """A mean known to be about 44, statistical."""
    prior = priors.normal(44, 6)
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
    refinement = Refinement.statistical(prior, NANO)
    for axis, truth in zip(axes, (44.0, 50.0, 70.0), strict=True):
        _density(axis, prior, _plain(prior), color="grey", linestyle="--", label="prior")
        _density(axis, prior, _refined(refinement, truth), label="refined, epsilon 1")
        axis.axvline(truth, color="black", linewidth=0.6)
        axis.set(title=f"truth {truth:g}", xlabel="answer", xlim=(20, 75))
    axes[0].set_ylabel("density")
    axes[0].legend()
    return figure


def labels() -> Figure:
    """Labels without an order, labels in order, and a number that is often 0."""
    levels, masses = ["none", "low", "mid", "high"], [0.5, 0.25, 0.15, 0.1]
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
    made = {"nominal": priors.nominal(levels, masses), "ordinal": priors.ordinal(levels, masses)}
    for axis, (name, prior) in zip(axes, made.items(), strict=True):
        laws = {"prior": _plain(prior)}
        for truth in ("none", "high"):
            laws[f"truth {truth}"] = [float(p) for p in Refinement.individual(prior, NANO).pmf(truth)]
        for place, (label, law) in enumerate(laws.items()):
            axis.bar(np.arange(len(levels)) + 0.27 * (place - 1), law, width=0.25, label=label)
        axis.set_xticks(range(len(levels)), levels)
        axis.set(title=f"{name}, epsilon 1", xlabel="answer")
    axes[0].set_ylabel("probability")
    axes[0].legend()
    return figure


def mixed() -> Figure:
    """An atom at 0 beside a normal law, one person's value."""
    prior = priors.mixture([(0.3, priors.point(0)), (0.7, priors.normal(5, 1))])
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
    refinement = Refinement.individual(prior, NANO)
    values = np.array(prior.values)
    for axis, truth in zip(axes, (0.0, 2.0, 5.0), strict=True):
        for law, color, label in (
            (_plain(prior), "grey", "prior"),
            (_refined(refinement, truth), "tab:blue", "refined"),
        ):
            rest = np.where(values == 0, np.nan, law)
            axis.plot(values, rest / 0.01, color=color, label=f"{label}, density")
            axis.plot([0], [law[prior.values.index(0.0)]], "o", color=color, label=f"{label}, mass at 0")
        axis.axvline(truth, color="black", linewidth=0.6)
        axis.set(title=f"truth {truth:g}, epsilon 1", xlabel="answer", xlim=(-1, 9))
    axes[0].legend(fontsize="small")
    return figure


def factors() -> Figure:
    """Expected distance against a_u."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    made = {
        "uniform on [0, 1]": priors.uniform(0, 1),
        "lognormal(6, 1)": priors.lognormal(6, 1),
        "yes or no, 0.1": priors.nominal([0, 1], [0.9, 0.1]),
    }
    for axis, (name, prior) in zip(axes, made.items(), strict=True):
        found = [Refinement(prior, NANO, "statistical", WHOLE * part // 60) for part in range(1, 61)]
        axis.plot([float(one.up) for one in found], [one.expected_distance for one in found])
        for make, label in ((Refinement.statistical, "least"), (Refinement.balanced, "e^(epsilon/2)")):
            one = make(prior, NANO)
            axis.plot(float(one.up), one.expected_distance, "o", label=label)
        axis.set(title=f"{name}, epsilon 1", xlabel="a_u")
        axis.legend()
    axes[0].set_ylabel("expected distance")
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "refinement_uniform": uniform,
    "refinement_normal": normal,
    "refinement_labels": labels,
    "refinement_mixed": mixed,
    "refinement_factors": factors,
}
