"""The part of the database that one caller may see, which all catalogue answers are made from."""

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from dpproxy.config.settings import search_path
from dpproxy.pgcatalog import oids
from dpproxy.policy.model import Domain
from dpproxy.values.pgtypes import Column, ForeignKey, UniqueKey

OWNER = "admin"
"""The built-in role that owns every object."""


class CatalogueRelation(Struct, frozen=True):
    """A relation this caller may see; ``kind`` is pg_class.relkind: r table, v view, protected or not."""

    name: str
    columns: tuple[Column, ...]
    kind: str = "r"
    comment: str | None = None
    declared: tuple[tuple[str, Domain], ...] = ()
    """Declared domains of columns."""
    keys: tuple[UniqueKey | ForeignKey, ...] = ()
    """Keys whose columns, and whose target's, this caller may all see."""
    schema: str = "public"

    @property
    def one_name(self) -> str:
        """The name that the policy has for it: its schema is part of it where that is not public."""
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"

    @property
    def domains(self) -> Mapping[str, Domain]:
        """By column."""
        return dict(self.declared)


class CatalogueView(Struct, frozen=True):
    """The policy as one caller sees it.

    Attributes:
        roles: names of the roles that exist.
        caller_roles: those of them that the caller has.
        relations: the relations of the data that the caller may see.
        settings: session settings by lower-case name.
        version: the policy's state version.
        own: relations of schema dp, whose rows are computed for each statement.
        role_defaults: settings that roles start with: role, database and settings; an empty name means all.
        databases: every data source, whichever the connection is to.
        process: the session's process number, as in CancelRequest and pg_cancel_backend.
    """

    database: str
    user: str
    roles: tuple[str, ...]
    relations: tuple[CatalogueRelation, ...]
    settings: Mapping[str, str]
    version: int
    own: tuple[CatalogueRelation, ...] = field(default=())
    databases: tuple[str, ...] = ()
    role_defaults: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    process: int = 0
    caller_roles: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for views with the same tables: everything but what depends on the session."""
        who = self.database, self.user, self.roles, self.caller_roles, self.role_defaults
        return *who, self.relations, self.version, self.own, self.path

    def with_schemas(self) -> Iterator[tuple[str, CatalogueRelation]]:
        """All relations, each with its schema."""
        yield from ((relation.schema, relation) for relation in self.relations)
        yield from (("dp", relation) for relation in self.own)

    @property
    def schemas(self) -> Mapping[str, int]:
        """The OIDs of all schemas, those of the data with a relation that the caller may see."""
        return {**oids.SCHEMAS, **{r.schema: oids.schema_oid(r.schema) for r in self.relations}}

    @property
    def path(self) -> tuple[str, ...]:
        """The schemas of the search path that there are, which names without a schema are looked up in."""
        return tuple(name for name in search_path(self.settings, self.user) if name in self.schemas)

    @property
    def found(self) -> Mapping[str, str]:
        """By the name alone of a relation, the schema of the one that it means."""
        place = {name: at for at, name in enumerate(self.path)}
        near = [(schema, r.name) for schema, r in self.with_schemas() if schema in place]
        return {name: schema for schema, name in sorted(near, key=lambda one: -place[one[0]])}
