"""The state directories of twins: two proxies over synthetic people, under a given policy; one person is in one only.

Tables, keys, domains and references are those of the policy; ceilings, budgets and grants are replaced by the test's
own, because it would soon exhaust the declared ones.
"""

import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.assurance import people
from dpproxy.assurance.target import Target, targets
from dpproxy.assurance.twins import CONFIG
from dpproxy.assurance.wire import Wire
from dpproxy.config.users import add_user
from dpproxy.policy.dump import constant, dump
from dpproxy.policy.model import Exposure, Policy
from dpproxy.sql.quoting import identifier
from dpproxy.system.process import serving
from dpproxy.values.pgtypes import Schema

ANALYST, LOUD, POOR, AUDITOR, ONLOOKER = "analyst", "loud", "poor", "auditor", "onlooker"
"""Users, each with the role and the budget of the same name. The onlooker never spends: plans depend on spending."""
BUDGETS = {
    ANALYST: "LIMIT EPSILON 900000 DELTA 0.1 MAX EPSILON 1 DEFAULT EPSILON 0.1",
    LOUD: "LIMIT EPSILON 900000000 DELTA 0.1 MAX EPSILON 1000000 DEFAULT EPSILON 1000000",
    POOR: "LIMIT EPSILON 1 MAX EPSILON 0.4 DEFAULT EPSILON 0.4",
    ONLOOKER: "LIMIT EPSILON 1",
    AUDITOR: "LIMIT EPSILON 900000 DELTA 0.1 MAX EPSILON 1 DEFAULT EPSILON 1",
}
CEILING = "CEILING EPSILON 1000000000 DELTA 0.5"
_SETTINGS = """\
padding = "{padding}"
[limits]
threads = 1
"""


class Twins(Struct, frozen=True):
    """Two running proxies: the first without the person that attacks are after, the second with her."""

    addresses: tuple[tuple[str, int], tuple[str, int]]
    password: str
    targets: tuple[Target, ...]

    @contextmanager
    def connected(self, user: str) -> Iterator[tuple[Wire, Wire]]:
        """A connection to each proxy, closed at the end."""
        left, right = self.addresses
        with Wire(left, user, self.password) as one, Wire(right, user, self.password) as other:
            yield one, other

    def urls(self, user: str) -> list[str]:
        """The connection URLs for libpq."""
        return [f"postgresql://{user}:{self.password}@{host}:{port}/main" for host, port in self.addresses]


def policy_of_test(policy: Policy) -> list[str]:
    """The statements of a policy, with ceilings and budgets that a test does not exhaust."""
    bare = {name: replace(table, ceiling=None) for name, table in policy.tables.items()}
    statements = dump(Policy(tables=bare, taxonomies=policy.taxonomies))
    owners = [
        name
        for name, table in sorted(bare.items())
        if table.unit is not None and table.unit.references is None
    ]
    statements += [f"ALTER TABLE {identifier(name)} SET PRIVACY {CEILING}" for name in owners]
    protected = [name for name, table in sorted(bare.items()) if table.exposure is Exposure.PROTECTED]
    listed = ", ".join(map(identifier, protected))
    for role, limits in BUDGETS.items():
        statements.append(f"CREATE PRIVACY BUDGET {role} {limits}")
        statements.append(f"GRANT SELECT ON {listed} TO {role} WITH PRIVACY BUDGET {role}")
    return statements


@contextmanager
def twins(
    folder: Path, policy: Policy, schema: Schema, public: Path | None, *, padding: str = "0ms"
) -> Iterator[Twins]:
    """Write the files of both proxies into ``folder`` and start them; ``public`` is the file with the public tables.

    Errors: StartupError if one does not start.
    """
    password = secrets.token_urlsafe(12)
    everybody = [*people.tables(policy, schema), *people.everybody(policy, schema)]
    hers = list(people.her(policy, schema))
    named = [
        n for n, t in sorted(policy.tables.items()) if t.exposure is Exposure.PUBLIC and n in schema.tables
    ]
    with ExitStack() as stack:
        addresses = []
        for side, rows in (("without", everybody), ("with", everybody + hers)):
            home = folder / side
            home.mkdir()
            _write_data(home / "data.duckdb", public, named, rows)
            _write_rest(home, policy_of_test(policy), password, padding)
            _, address = stack.enter_context(serving(home / "dpproxy.toml"))
            host, _, port = address.rpartition(":")
            addresses.append((host, int(port)))
        found = targets(policy, schema, _constants(people.her_keys(policy, schema)))
        yield Twins((addresses[0], addresses[1]), password, tuple(found))


def _write_data(path: Path, public: Path | None, tables: Sequence[str], statements: Iterable[str]) -> None:
    with duckdb.connect(str(path)) as connection:
        if public is not None and tables:
            connection.execute(f"ATTACH {constant(str(public))} AS source (READ_ONLY)")
            for name in map(identifier, tables):
                connection.execute(f"CREATE TABLE {name} AS SELECT * FROM source.main.{name}")  # noqa: S608 - quoted
            connection.execute("DETACH source")
        for statement in statements:
            connection.execute(statement)


def _write_rest(home: Path, policy: Sequence[str], password: str, padding: str) -> None:
    (home / "policy.sql").write_text("".join(f"{one};\n" for one in policy), encoding="utf-8")
    (home / "dpproxy.toml").write_text(CONFIG + _SETTINGS.format(padding=padding), encoding="utf-8")
    for role in BUDGETS:
        add_user(home / "users.toml", role, [role], password)


def _constants(expressions: dict[str, str]) -> dict[str, str]:
    """Evaluate expressions of the engine for row 0 and write their values as constants, by name."""
    found: dict[str, Any] = {}
    with duckdb.connect(":memory:") as connection:
        for name, text in expressions.items():
            [[found[name]]] = connection.execute(f"SELECT {text} FROM range(1) AS r(i)").fetchall()  # noqa: S608 - our own text
    return {name: constant(value) for name, value in found.items() if isinstance(value, int | str)}
