"""The discrete Laplace mechanism: independent noise, epsilon in equal parts for the numbers of a list."""

from typing import Final

from udfs.functions.joint import JointKind, lists, singles
from udfs.functions.model import SqlFunction
from udfs.mechanisms import Laplace
from udfs.pool import Pool

KIND: Final = JointKind(Laplace.best)


def functions(pool: Pool) -> tuple[SqlFunction, ...]:
    """Return the functions of this family."""
    return (
        *lists(
            pool,
            KIND,
            "dp_laplace",
            "epsilon",
            "the numbers with independent discrete Laplace noise, epsilon for all together",
        ),
        *singles(
            "dp_laplace",
            "dp_laplace",
            "epsilon",
            "a number with discrete Laplace noise, where one unit changes it by at most sensitivity",
        ),
    )
