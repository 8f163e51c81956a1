"""pg_roles: the roles that exist, and the caller."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView


def role_oids(view: CatalogueView) -> dict[str, int]:
    """Names and OIDs of the roles, the owner first."""
    configured = (role for role, _, _ in view.role_defaults if role)
    names = dict.fromkeys((OWNER, *view.roles, view.user, *configured))
    return {name: oids.OWNER if name == OWNER else oids.role_oid(name) for name in names}


def config(view: CatalogueView, name: str) -> list[str] | None:
    """The settings of a role in all databases."""
    return next(
        (list(told) for role, database, told in view.role_defaults if (role, database) == (name, "")), None
    )


def _rows(view: CatalogueView) -> Iterator[Row]:
    for name, oid in role_oids(view).items():
        yield {
            "rolname": name,
            "rolsuper": False,
            "rolinherit": True,
            "rolcreaterole": False,
            "rolcreatedb": False,
            "rolcanlogin": name == view.user,
            "rolreplication": False,
            "rolconnlimit": -1,
            "rolpassword": "********",
            "rolbypassrls": False,
            "rolconfig": config(view, name),
            "oid": oid,
        }


TABLE = table("pg_catalog", "pg_roles", _rows)
