"""The mechanisms that add noise, each under its name; staircases have functions of their own."""

from udfs.functions.joint import JointKind, lists, singles
from udfs.functions.model import SqlFunction
from udfs.mechanisms import MECHANISMS, Additive, Staircase
from udfs.pool import Pool


def functions(pool: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    kinds = [kind for kind in MECHANISMS.values() if not issubclass(kind, Staircase)]
    return tuple(function for kind in kinds for function in _of(pool, kind))


def _of(pool: Pool, kind: type[Additive]) -> tuple[SqlFunction, ...]:
    name, noise = kind.FUNCTION, kind.NOISE.removeprefix("independent ")
    made, loss, words = JointKind(kind.best), "epsilon", "epsilon"
    if kind.CONCENTRATED:
        made, loss, words = JointKind(kind.best, "rho must be at least 0.000000001"), "rho", "rho-zCDP"
        noise = f"{noise}, {words}"
    about = f"a number with {noise}, where one unit changes it by at most sensitivity"
    return (
        *lists(pool, made, name, loss, f"the numbers with {kind.NOISE}, {words} for all together"),
        *singles(name, name, loss, about),
    )
