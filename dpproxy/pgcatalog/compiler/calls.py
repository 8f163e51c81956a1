"""Function calls in statements about the catalogue: renamed, computed from the view, or refused."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import function_name
from dpproxy.pgcatalog.compiler import functions, identifiers, macros
from dpproxy.pgcatalog.compiler.kind_rules import kind_of
from dpproxy.pgcatalog.compiler.trees import call, cast, null, oid, spoken, text
from dpproxy.pgcatalog.tables.roles import role_oids
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.sql.quoting import identifier, literal
from dpproxy.values.errors import UndefinedFunction, UndefinedObject, Unsupported
from dpproxy.values.pgtypes import XID

MAX_SERIES = 100_000
"""The most rows of one generate_series."""
SERIES_ERROR = "series too long"
"""The engine's error message for a longer series."""

SERVER_VERSION = "15.0"
"""The version for sessions without a setting server_version."""


def _version(view: CatalogueView) -> str:
    number = view.settings.get("server_version", SERVER_VERSION).split()[0]
    return f"PostgreSQL {number} (dpproxy) on DuckDB, 64-bit"


def _user(view: CatalogueView) -> str:
    return view.user


def _database(view: CatalogueView) -> str:
    return view.database


def _schema(view: CatalogueView) -> str | None:
    return next(iter(view.path), None)


SPOKEN: Mapping[str, Callable[[CatalogueView], str | None]] = {
    "user": _user,
    "current_role": _user,
    "current_user": _user,
    "session_user": _user,
    "current_catalog": _database,
    "current_schema": _schema,
}
"""Words that look like columns and are functions."""

WORDS = (
    exp.CurrentUser, exp.SessionUser, exp.CurrentCatalog, exp.CurrentDatabase, exp.CurrentSchema, exp.CurrentVersion,
)  # fmt: skip
"""Functions of the session without arguments that the parser knows."""
_PLAIN = frozenset((exp.Select, exp.Alias, exp.Identifier, *WORDS))


def asks_the_session(tree: exp.Expr) -> bool:
    """Whether a statement asks nothing but who is asking what, as ``SELECT version()``: pools do so all the time."""
    return all(type(node) in _PLAIN for node in tree.walk())


_WORDS: Mapping[str, Callable[[CatalogueView], str | None]] = {
    **SPOKEN,
    "current_database": _database,
    "version": _version,
}


def word(node: exp.Expr, view: CatalogueView) -> exp.Expr:
    """The value of such a function."""
    return spoken(_WORDS[function_name(node)](view))


_STARTED = datetime.now(UTC)
"""When this process started."""
_MOMENTS = frozenset({"pg_postmaster_start_time", "pg_conf_load_time"})


_SERVER_FACTS = {
    "block_size": "8192",
    "default_table_access_method": "heap",
    "default_tablespace": "",
    "max_identifier_length": "63",
    "max_index_keys": "32",
}
"""Settings that tools read and that no session has."""


def _setting(node: exp.Anonymous, view: CatalogueView) -> exp.Expr:
    """current_setting(name [, missing_ok])."""
    name, *rest = node.expressions
    name = name.this if isinstance(name, exp.Cast) else name
    if isinstance(name, exp.Null):
        return null()
    if isinstance(name, exp.Column) and name.name == "name" and not rest:
        return _setting_of_row(name, view)
    if not (isinstance(name, exp.Literal) and name.is_string):
        raise Unsupported("current_setting takes a literal name here")
    value = view.settings.get(name.name.lower(), _SERVER_FACTS.get(name.name.lower()))
    if value is not None:
        return text(value)
    if rest and isinstance(rest[0], exp.Boolean) and rest[0].this:
        return null()
    raise UndefinedObject(f'unrecognized configuration parameter "{name.name}"')


def _setting_of_row(name: exp.Expr, view: CatalogueView) -> exp.Expr:
    """current_setting of each row of pg_settings."""
    names, values = (
        exp.Array(expressions=[text(t) for t in part]) for part in zip(*view.settings.items(), strict=True)
    )
    found = exp.Bracket(this=call("map", names, values), expressions=[call("lower", name)])
    return call("coalesce", found, call("error", text("unrecognized configuration parameter")))


def _set_config(node: exp.Anonymous, _view: CatalogueView) -> exp.Expr:
    """set_config(name, value, is_local): returns the value and changes nothing; refused where that would matter."""
    name, value = node.expressions[:2]
    if isinstance(name, exp.Literal) and name.name.lower().startswith("dp."):
        setting = identifier(name.name.lower().removeprefix("dp."))
        new = literal(value.name) if isinstance(value, exp.Literal) else "DEFAULT"
        raise Unsupported("set_config does not change settings of privacy", hint=f"SET dp.{setting} = {new};")
    return cast(value, "VARCHAR")


_READ_ONLY = ("SELECT", "USAGE", "CONNECT")


def _privilege(node: exp.Anonymous, _view: CatalogueView) -> exp.Expr:
    asked = node.expressions[-1]
    word = asked.name.upper().split()[0] if isinstance(asked, exp.Literal) and asked.name.strip() else ""
    return exp.Boolean(this=word in _READ_ONLY)


_MEMBERSHIPS = frozenset({"MEMBER", "USAGE"})


def _has_role(node: exp.Anonymous, view: CatalogueView) -> exp.Expr:
    """pg_has_role([user,] role, privilege): True for oneself, and for the caller's roles."""
    *who, role, asked = node.expressions
    roles = role_oids(view)
    if isinstance(role, exp.Literal) and role.is_string and role.name not in roles:
        if not role.name.startswith("pg_"):  # those that every PostgreSQL has, and nobody here
            raise UndefinedObject(f'role "{role.name}" does not exist', position=position(node))
        return exp.false()
    if not isinstance(asked, exp.Literal) or asked.name.strip().upper() not in _MEMBERSHIPS:
        return exp.false()
    own = [text(told) for name in (view.user, *view.caller_roles) for told in (name, str(roles[name]))]
    has = exp.In(this=_role_text(role), expressions=own)
    if not who:
        return exp.paren(has)
    is_caller = exp.In(this=_role_text(who[0]), expressions=own[:2])
    is_same = exp.EQ(this=_role_text(who[0]), expression=_role_text(role))
    return exp.Case(ifs=[exp.If(this=is_caller, true=has)], default=is_same)


def _role_text(role: exp.Expr) -> exp.Expr:
    """A role's name or OID, as text."""
    return cast(role.copy(), "VARCHAR")


def _acl(node: exp.Anonymous, view: CatalogueView) -> exp.Expr:
    """aclexplode(list): with the OIDs of the roles that a list can name."""
    roles = role_oids(view)
    names, oids = map(text, roles), map(oid, roles.values())
    by_name = call("map", exp.Array(expressions=[*names]), exp.Array(expressions=[*oids]))
    return call(f"{macros.PREFIX}expand_acl", node.expressions[0], by_name)


def _alone(node: exp.Anonymous, _view: CatalogueView) -> exp.Expr:
    """Refuse a function that works only as the whole statement, which the session then carries out."""
    raise Unsupported(
        f"{node.name.lower()} of anything but a number is not supported",
        hint=f"Write SELECT {node.name.lower()}(123), with what SELECT pg_backend_pid() gives in that session.",
        position=position(node),
    )


def moment(value: datetime) -> exp.Expr:
    """A moment in UTC, to the microsecond."""
    return cast(text(value.replace(tzinfo=None).isoformat(sep=" ") + "+00"), "TIMESTAMPTZ")


def _age(node: exp.Anonymous, _view: CatalogueView) -> exp.Expr:
    """age(xid): always 0, as if everything were new."""
    kind = kind_of(node.expressions[0])
    if kind is None or kind.oid != XID.oid:
        raise Unsupported("age() is known of transactions only, as age(datfrozenxid)")
    return call(f"{macros.PREFIX}no_age", node.expressions[0])


def _definition(node: exp.Anonymous, _view: CatalogueView) -> exp.Expr:
    """pg_get_functiondef(oid): refused for a single function, whose source a client would show."""
    if not isinstance(node.expressions[0].unnest(), exp.Literal):
        return null()
    raise Unsupported(
        "the definition of a function is not shown", hint=r"\df tells what it takes.", position=position(node)
    )


def schemas(node: exp.Expr, view: CatalogueView) -> exp.Expr:
    """current_schemas(include_implicit)."""
    argument = node.this if isinstance(node, exp.CurrentSchemas) else node.expressions[0]
    implicit = isinstance(argument, exp.Boolean) and bool(argument.this)
    first = ("pg_catalog",) if implicit and "pg_catalog" not in view.path else ()
    return exp.Array(expressions=[text(name) for name in (*first, *view.path)])


_SPECIAL: Mapping[str, tuple[tuple[int, int], Callable[[exp.Anonymous, CatalogueView], exp.Expr]]] = {
    "current_setting": ((1, 2), _setting),
    "parse_ident": ((1, 2), lambda node, _view: identifiers.call(node)),
    "set_config": ((3, 3), _set_config),
    "current_schemas": ((1, 1), schemas),
    **{name: (counts, _privilege) for name, counts in functions.PRIVILEGE_COUNTS.items()},
    "pg_has_role": ((2, 3), _has_role),
    **{name: (counts, lambda _node, _view: null()) for name, counts in functions.ABSENT.items()},
    **{name: ((0, 0), lambda _node, _view: moment(_STARTED)) for name in _MOMENTS},
    "pg_backend_pid": ((0, 0), lambda _node, view: exp.Literal.number(view.process)),
    "age": ((1, 1), _age),
    "aclexplode": ((1, 1), _acl),
    "pg_cancel_backend": ((1, 1), _alone),
    "pg_terminate_backend": ((1, 2), _alone),
    "pg_get_functiondef": ((1, 1), _definition),
}


NAMES = frozenset({*_SPECIAL, *_WORDS, *functions.OF_CATALOGUE})
"""Functions that are answered in statements about the catalogue alone."""


def rewritten(node: exp.Anonymous, view: CatalogueView) -> exp.Expr:
    """The call for DuckDB.

    Raises:
        UndefinedFunction: not on the list, or with another count of arguments.
    """
    name, count = node.name.lower(), len(node.expressions)
    if not count and name in _WORDS:
        return word(node, view)
    if name in _SPECIAL:
        (low, high), build = _SPECIAL[name]
        if low <= count <= high:
            return build(node, view)
    if name in functions.FUNCTIONS:
        return call(functions.FUNCTIONS[name], *node.expressions)
    raise UndefinedFunction(f"function {name} does not exist in the catalogue")


def places(node: exp.Expr) -> exp.Expr:
    """The numbers from 1 to the length of the longest list."""
    sizes = [
        exp.Coalesce(this=call("len", each), expressions=[exp.Literal.number(0)]) for each in node.expressions
    ]
    last = exp.Add(this=call("greatest", *sizes), expression=exp.Literal.number(1))
    return call("unnest", call("range", exp.Literal.number(1), last))


def bounded_series(node: exp.Expr) -> exp.Expr:
    """generate_series that ends in an error where it would give more than `MAX_SERIES` rows.

    Raises:
        Unsupported: a step other than a literal whole number over zero.
    """
    start, end, step = node.args["start"], node.args["end"], node.args.get("step")
    if step is not None and not (
        isinstance(step, exp.Literal) and not step.is_string and step.name.isdigit()
    ):
        raise Unsupported("generate_series takes a literal positive step here", position=position(node))
    span = exp.Sub(this=exp.Paren(this=end.copy()), expression=exp.Paren(this=start.copy()))
    large = exp.GTE(this=span, expression=exp.Literal.number(MAX_SERIES))
    stop = call("error", text(SERIES_ERROR))
    node.set("end", exp.Case(ifs=[exp.If(this=large, true=stop)], default=end.copy()))
    return node
