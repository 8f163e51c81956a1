"""A view as statements find it."""

from dataclasses import dataclass

from dpproxy.views.columns import ShownColumn


@dataclass(frozen=True, slots=True)
class Materialized:
    """A relation of a built view; all of it is public.

    Attributes:
        view: the view, on which grants are; a relation beside its own has another ``name``.
        table: the table of the backend that holds the rows.
        private: differentially; rows of another kind are nothing that protected rows may be joined with.
        inside: the rows are not shown, only charged questions read them; then ``k`` is the least records of a cluster.
        owner: the table that owns the privacy unit; ``source`` is a protected table it was made of.
        query: what it was made of.
        digest: of what its rows were when they were read, and whose; "" where nobody knows.
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
