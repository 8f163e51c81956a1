"""The table of methods: a new one is one file and one line here."""

from typing import Final

from dpproxy.anonymize.auto import Auto
from dpproxy.anonymize.dp_individual_ranking import DpIndividualRanking
from dpproxy.anonymize.dp_kdtree import DpKdtree
from dpproxy.anonymize.dp_marginals import DpMarginals
from dpproxy.anonymize.dp_microaggregation import DpMicroaggregation
from dpproxy.anonymize.mdav import Mdav
from dpproxy.anonymize.model import Method
from dpproxy.anonymize.swap import IrSwap, MdavSwap
from dpproxy.anonymize.t_closeness import TCloseness

_ALL: tuple[Method, ...] = (
    Mdav(),
    MdavSwap(),
    IrSwap(),
    TCloseness(),
    DpKdtree(),
    DpMarginals(),
    DpMicroaggregation(),
    DpIndividualRanking(),
    Auto(),
)

METHODS: Final[dict[str, Method]] = {method.name: method for method in _ALL}
"""The methods by name, as in ``WITH (method = ...)``."""
