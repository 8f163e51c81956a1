"""Roles, members of roles, users, and what sessions of a role start with."""

from collections.abc import Iterator

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import OWNER, CatalogueView

# pg_roles: the roles that exist, and the caller.


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


def _pg_roles_rows(view: CatalogueView) -> Iterator[Row]:
    for name, oid in role_oids(view).items():
        yield {
            "rolname": name,
            "rolcanlogin": name == view.user,
            "rolconfig": config(view, name),
            "oid": oid,
        }


# pg_user: the caller.


def _pg_user_rows(view: CatalogueView) -> Iterator[Row]:
    yield {
        "usename": view.user,
        "usesysid": role_oids(view)[view.user],
        "useconfig": config(view, view.user),
    }


# pg_auth_members: the roles that the caller has; those of others are not shown.


def _pg_auth_members_rows(view: CatalogueView) -> Iterator[Row]:
    roles = role_oids(view)
    for name in view.caller_roles:
        if name != view.user:
            yield {"roleid": roles[name], "member": roles[view.user]}


# pg_db_role_setting: the settings that sessions of a role start with.


def _pg_db_role_setting_rows(view: CatalogueView) -> Iterator[Row]:
    roles = role_oids(view)
    for role, database, told in view.role_defaults:
        yield {
            "setdatabase": oids.database(database) if database else 0,
            "setrole": roles[role] if role else 0,
            "setconfig": list(told),
        }


TABLES = (
    table("pg_catalog", "pg_roles", _pg_roles_rows),
    table("pg_catalog", "pg_user", _pg_user_rows),
    table("pg_catalog", "pg_auth_members", _pg_auth_members_rows),
    table("pg_catalog", "pg_db_role_setting", _pg_db_role_setting_rows),
)
