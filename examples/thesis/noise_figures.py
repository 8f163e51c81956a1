"""The figures of chapter 4: densities, variance and interval length against d, joint densities."""

import math
from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from examples.thesis import continuous as optimal
from examples.thesis.drawing import plt

EPSILONS = (0.1, 0.5, 1.0)


def density(d: float, epsilon: float, x: np.ndarray) -> np.ndarray:
    """The density of the optimal noise for sensitivity 1 and an innermost step of half-width d."""
    steps = np.ceil(np.maximum(np.abs(x) - d, 0))
    return optimal.peak(d, 1, epsilon) * np.exp(-steps * epsilon)


def joint_density(
    gamma: float, epsilon: float, x: np.ndarray, y: np.ndarray, widths: tuple[float, float]
) -> np.ndarray:
    """The density of the joint noise of two answers."""
    q = math.exp(-epsilon)
    mass = sum(4 * widths[0] * widths[1] * (gamma + t) ** 2 * q**t for t in range(200)) * (1 - q)
    reach = np.maximum(np.abs(x) / widths[0], np.abs(y) / widths[1])
    return q ** np.ceil(np.maximum(reach - gamma, 0)) / mass


def densities() -> Figure:
    """Optimal noise beside Laplace."""
    figure, axes = plt.subplots(1, len(EPSILONS), figsize=(12, 3.6), layout="constrained")
    for axis, epsilon in zip(axes, EPSILONS, strict=True):
        x = np.linspace(-6, 6, 2401)
        axis.plot(x, density(optimal.best_gamma(epsilon), epsilon, x), label="least variance")
        axis.plot(x, epsilon / 2 * np.exp(-epsilon * np.abs(x)), label="Laplace", linestyle="--")
        axis.set(title=f"epsilon {epsilon:g}", xlabel="noise", ylim=(0, None))
    axes[0].set_ylabel("density")
    axes[0].legend()
    return figure


def _against_d(
    value: Callable[[float, float], float], laplace: Callable[[float], float], label: str
) -> Figure:
    figure, axes = plt.subplots(1, len(EPSILONS), figsize=(12, 3.6), layout="constrained")
    grid = np.union1d(np.linspace(0, 1, 21), np.linspace(0.9, 1, 21))
    for axis, epsilon in zip(axes, EPSILONS, strict=True):
        found = [value(float(d), epsilon) for d in grid]
        place = int(np.argmin(found))
        axis.plot(grid, found, label="optimal family")
        axis.plot(grid[place], found[place], "o", label=f"least, d = {grid[place]:.3f}")
        axis.axhline(laplace(epsilon), linestyle="--", color="tab:orange", label="Laplace")
        axis.set(title=f"epsilon {epsilon:g}", xlabel="d")
        axis.legend()
    axes[0].set_ylabel(label)
    return figure


def variances() -> Figure:
    """Variance against d."""
    return _against_d(optimal.variance, lambda epsilon: optimal.laplace_variance([1], epsilon), "variance")


def intervals() -> Figure:
    """Length of the 95 % interval against d."""
    return _against_d(
        lambda d, epsilon: 2 * optimal.region(0.95, d, epsilon),
        lambda epsilon: 2 * optimal.laplace_region(0.95, [1], epsilon),
        "length of the 95 % interval",
    )


def joint_densities() -> Figure:
    """Two answers together beside Laplace: the same 95 % in a smaller area; mind the axes."""
    gamma, epsilon, widths = 0.1, 1.0, (1.0, 10.0)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
    scale = sum(widths) / epsilon
    pictures: dict[str, tuple[float, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
        "joint, gamma 0.1": (8, lambda x, y: joint_density(gamma, epsilon, x, y, widths)),
        "Laplace, scale 11 each": (
            80,
            lambda x, y: np.exp(-(np.abs(x) + np.abs(y)) / scale) / (4 * scale**2),
        ),
    }
    for axis, (title, (wide, found)) in zip(axes, pictures.items(), strict=True):
        x, y = np.meshgrid(np.linspace(-wide, wide, 401), np.linspace(-80, 80, 401))
        figure.colorbar(axis.pcolormesh(x, y, np.log10(found(x, y))), ax=axis, label="log10 of the density")
        axis.set(title=f"{title}, with its 95 % region", xlabel="component 1", ylabel="component 2")
    half = optimal.region(0.95, gamma, epsilon, 2)
    axes[0].plot(*_loop(half * widths[0], half * widths[1]), color="white", linewidth=1)
    alpha = optimal.laplace_region(0.95, list(widths), epsilon)
    axes[1].plot(
        [-alpha, 0, alpha, 0, -alpha], [0, alpha, 0, -alpha, 0], color="white", linewidth=1, label="95 %"
    )
    return figure


def _loop(half: float, other: float) -> tuple[list[float], list[float]]:
    return [-half, half, half, -half, -half], [-other, -other, other, other, -other]


def components() -> Figure:
    """Variance of each answer against how many are answered together."""
    figure, axis = plt.subplots(figsize=(6, 3.8), layout="constrained")
    numbers = range(1, 11)
    axis.plot(
        numbers, [optimal.variance(optimal.best_gamma(1, d), 1, d) for d in numbers], "o-", label="joint"
    )
    axis.plot(
        numbers, [optimal.laplace_variance([1] * d, 1) for d in numbers], "s--", label="Laplace, split evenly"
    )
    axis.set(xlabel="answers together", ylabel="variance of each", yscale="log", title="epsilon 1")
    axis.legend()
    return figure


FIGURES: dict[str, Callable[[], Figure]] = {
    "noise_density": densities,
    "noise_variance": variances,
    "noise_interval": intervals,
    "noise_joint_density": joint_densities,
    "noise_components": components,
}
