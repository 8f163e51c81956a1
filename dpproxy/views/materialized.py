"""A built view in the form that the planner reads."""

from msgspec import Struct

from dpproxy.views.columns import ShownColumn


class Materialized(Struct, frozen=True):
    """A relation of a built view; all of it is public.

    Attributes:
        view: the view that grants are on; its further relations have other names (``name``).
        table: the table of the backend that has the rows.
        private: whether it is differentially private; if not, protected rows must not be joined with it.
        inside: whether only charged queries may read the rows; if so, ``k`` is the least records of a cluster.
        owner: the table that owns the privacy unit; ``source`` is a protected table that the view was built from.
        query: the query that the view was built from.
        digest: of the rows' query, domains and privacy unit at the time of the build; "" if unknown.
        definition: the statement that declared it then; ``data_version``: that of the rows.
    """

    name: str
    view: str
    table: str
    columns: tuple[ShownColumn, ...]
    rows: int
    private: bool
    inside: bool
    k: int
    guarantee: str
    owner: str
    source: str
    query: str
    digest: str = ""
    definition: str = ""
    data_version: int = 0
