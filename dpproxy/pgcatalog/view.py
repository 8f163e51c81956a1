"""What one caller may know of the database; all that the catalogue answers from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dpproxy.policy.model import Domain
from dpproxy.values.pgtypes import Column, ForeignKey, UniqueKey

OWNER = "admin"
"""The built-in role that owns every object."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation this caller may see; ``kind`` is pg_class.relkind: r table, v view, protected or not."""

    name: str
    columns: tuple[Column, ...]
    kind: str = "r"
    comment: str | None = None
    declared: tuple[tuple[str, Domain], ...] = ()
    """Domains of columns, outside of which this caller sees no value."""
    keys: tuple[UniqueKey | ForeignKey, ...] = ()
    """Those all of whose columns, and whose target, this caller may see."""

    @property
    def domains(self) -> Mapping[str, Domain]:
        """By column."""
        return dict(self.declared)


@dataclass(frozen=True, slots=True)
class CatalogueView:
    """The policy as one caller sees it.

    Attributes:
        roles: names of the roles that exist.
        held: those of them that the caller has.
        relations: what the caller may see of schema public.
        settings: session settings by lower-case name.
        version: the policy's state version.
        own: relations of schema dp; their rows come with each statement.
        configured: what roles start with: role, database and settings, empty names for all of them.
        databases: every data source, whichever the connection is to.
        process: the session's own, which CancelRequest and pg_cancel_backend name.
    """

    database: str
    user: str
    roles: tuple[str, ...]
    relations: tuple[Relation, ...]
    settings: Mapping[str, str]
    version: int
    own: tuple[Relation, ...] = field(default=())
    databases: tuple[str, ...] = ()
    role_defaults: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    process: int = 0
    caller_roles: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for views that are answered from the same tables: all but what is the session's own."""
        who = self.database, self.user, self.roles, self.caller_roles, self.role_defaults
        return *who, self.relations, self.version, self.own

    def with_schemas(self) -> Iterator[tuple[str, Relation]]:
        """Every relation with its schema."""
        yield from (("public", relation) for relation in self.relations)
        yield from (("dp", relation) for relation in self.own)
