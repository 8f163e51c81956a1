"""The discrete Gaussian mechanism: its loss is rho, of zero-concentrated differential privacy."""

from typing import Final

from udfs.functions.joint import JointKind, lists, singles
from udfs.functions.model import SqlFunction
from udfs.mechanisms import Gaussian
from udfs.pool import Pool

KIND: Final = JointKind(Gaussian.best, "rho must be at least 0.000000001")


def functions(pool: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    return (
        *lists(
            pool,
            KIND,
            "dp_gaussian",
            "rho",
            "the numbers with independent discrete Gaussian noise, rho-zCDP for all together",
        ),
        *singles(
            "dp_gaussian",
            "dp_gaussian",
            "rho",
            "a number with discrete Gaussian noise, rho-zCDP, where one unit changes it by at most sensitivity",
        ),
    )
