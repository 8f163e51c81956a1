"""What all mechanisms that add noise have in common.

A new one is a file that defines its class, its proof beside it, and a line in ``MECHANISMS``. It is a function of SQL
then, is compared with the others by its predicted error, and can be asked for by its name. Whoever writes it proves
what ``best`` promises: where one unit moves each component by at most its width, all at once, a release costs ``nano``.
"""

from typing import ClassVar, Protocol

from udfs.privacy import Mechanism


class Additive(Mechanism, Protocol):
    """Adds a draw of noise to a vector of whole numbers; a frozen struct, which equals another of equal fields."""

    __struct_fields__: ClassVar[tuple[str, ...]]
    FUNCTION: ClassVar[str]
    """The function of SQL that draws from it."""
    NOISE: ClassVar[str]
    """Its noise, for people."""
    CONCENTRATED: ClassVar[bool]
    """Its loss is rho, else epsilon. What epsilon and delta a rho keeps to is calibrated for the Gaussian alone."""

    COMPARED: ClassVar[bool]
    """It is drawn where its predicted error is least, else where it is asked for by name alone."""

    def __hash__(self) -> int: ...

    @property
    def widths(self) -> tuple[int, ...]:
        """The sensitivities."""

    @property
    def nano(self) -> int:
        """The loss of one release of the whole vector, in nano-epsilon or nano-rho."""

    @staticmethod
    def best(widths: tuple[int, ...], nano: int) -> "Additive":
        """Return the mechanism of least error for these sensitivities."""
