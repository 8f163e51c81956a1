"""Figures for Prometheus, on a loopback port of their own; off unless a port is configured.

They are for the operator: latencies here are finer than the grid that answers leave on, and sums over all callers. An
analyst who could read them would learn what others ask and how long the engine takes.
"""

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from msgspec import Struct

from dpproxy.observe.audit_entry import AuditEntry
from dpproxy.values.errors import Refusal, StartupError

ADDRESS = "127.0.0.1"
"""Never another: there is no password."""
SECONDS = tuple(0.001 * 2**n for n in range(15))
"""Upper ends of the histogram, 1 ms to 16 s."""


class Spent(Struct, frozen=True):
    """An account: its kind (budget, user, ceiling), its budget or table, its limit if any and what was spent of it."""

    kind: str
    name: str
    limit: float | None
    spent: float


Accounts = Callable[[], Sequence[Spent]]
Commits = Callable[[], tuple[int, float]]
Running = Callable[[], int]


class Metrics:
    """Counts statements, and serves the figures from ``start`` until ``close``."""

    def __init__(self) -> None:
        if importlib.util.find_spec("prometheus_client") is None:
            raise StartupError('metrics.port needs prometheus_client: pip install "dpproxy[metrics]"')
        import prometheus_client as p  # noqa: PLC0415 - an extra

        self._registry = p.CollectorRegistry()
        self._open = p.Gauge(
            "dpproxy_connections", "Sessions that are open.", ["database"], registry=self._registry
        )
        self._statements = p.Counter(
            "dpproxy_statements", "Statements by outcome.", ["database", "outcome", "sqlstate"],
            registry=self._registry,
        )  # fmt: skip
        self._seconds = p.Histogram(
            "dpproxy_statement_seconds", "From a statement to its outcome, before padding.", ["database"],
            buckets=SECONDS, registry=self._registry,
        )  # fmt: skip
        self._ledgers = _Ledgers()
        self._registry.register(self._ledgers)
        self._server: Any = None

    def of(
        self,
        database: str,
        accounts: Accounts,
        commits: Commits,
        running: Running,
    ) -> "Figures":
        """The figures of one data source.

        Args:
            database: its name, a label of each figure.
            accounts: returns what was spent of each account; called at each scrape.
            commits: returns the number of the ledger's commits, and the seconds they took.
            running: returns how many statements are under way.
        """
        self._ledgers.add(database, accounts, commits, running)
        return Figures(
            database, self._open.labels(database), self._statements, self._seconds.labels(database)
        )

    def start(self, port: int) -> int:
        """Serve on a loopback port; returns its number. Raises ``StartupError``."""
        import prometheus_client as p  # noqa: PLC0415 - an extra

        try:
            self._server, _ = p.start_http_server(port, ADDRESS, registry=self._registry)
        except OSError as error:
            raise StartupError(f"metrics.port: cannot listen on {ADDRESS}:{port}: {error.strerror}") from None
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()


class Figures:
    """Watches one data source."""

    def __init__(self, database: str, connections: Any, statements: Any, seconds: Any) -> None:  # noqa: ANN401
        self._database = database
        self._open = connections
        self._statements = statements
        self._seconds = seconds

    def session_opened(self) -> None:
        """A session begins."""
        self._open.inc()

    def session_closed(self) -> None:
        """A session ends."""
        self._open.dec()

    def statement_ended(self, entry: AuditEntry, seconds: float) -> None:
        """A statement ended; ``seconds`` is how long it took."""
        self._statements.labels(self._database, entry.outcome.value, entry.sqlstate).inc()
        self._seconds.observe(seconds)


class _Ledgers:
    """Figures of the ledgers, read at each scrape."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Accounts, Commits, Running]] = {}

    def add(self, database: str, accounts: Accounts, commits: Commits, running: Running) -> None:
        """Add the ledger of a data source."""
        self._known = self._known | {database: (accounts, commits, running)}

    def collect(self) -> Iterator[Any]:
        """The families of the registry. Users are counted, not named."""
        from prometheus_client.core import GaugeMetricFamily, SummaryMetricFamily  # noqa: PLC0415 - an extra

        def gauge(name: str, help_: str, label: str) -> Any:  # noqa: ANN401 - a family
            return GaugeMetricFamily(f"dpproxy_{name}", help_, labels=["database", label])

        spent = {kind: gauge(f"{kind}_spent_epsilon", f"Spent of each {kind}.", kind) for kind in _LIMITED}
        limits = {kind: gauge(f"{kind}_limit_epsilon", f"Limit of each {kind}.", kind) for kind in _LIMITED}
        users = gauge("budget_users", "Users who have spent of a budget.", "budget")
        nearest = gauge(
            "budget_user_spent_ratio", "The largest share of the user limit that one has spent.", "budget"
        )
        running = GaugeMetricFamily(
            "dpproxy_statements_running", "Statements under way.", labels=["database"]
        )
        written = SummaryMetricFamily(
            "dpproxy_ledger_commit_seconds", "Commits of the ledger.", labels=["database"]
        )
        for database, (accounts, commits, under_way) in self._known.items():
            with suppress(Refusal):  # its ledger cannot be read: the others' can
                found = accounts()
                for one in found:
                    if one.kind in _LIMITED:
                        spent[one.kind].add_metric([database, one.name], one.spent)
                    if one.kind in _LIMITED and one.limit is not None:
                        limits[one.kind].add_metric([database, one.name], one.limit)
                for budget, shares in _shares(found).items():
                    users.add_metric([database, budget], len(shares))
                    nearest.add_metric([database, budget], max(shares))
            count, seconds = commits()
            written.add_metric([database], count_value=count, sum_value=seconds)
            running.add_metric([database], under_way())
        yield from (*spent.values(), *limits.values(), users, nearest, running, written)


_LIMITED = ("budget", "ceiling")


def _shares(accounts: Sequence[Spent]) -> dict[str, list[float]]:
    """By budget, what share of their limit each of its users has spent; 0 where there is no limit."""
    found: dict[str, list[float]] = {}
    for one in accounts:
        if one.kind == "user":
            found.setdefault(one.name, []).append(one.spent / one.limit if one.limit else 0.0)
    return found
