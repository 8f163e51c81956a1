"""SHOW PRIVACY STATUS: whether a data source is well, and what is under way. For administrators: it tells times."""

import time
from collections.abc import Iterator, Mapping
from decimal import Decimal

from dpproxy.accounting.ledger import Ledger
from dpproxy.policy.model import Policy
from dpproxy.values.jobs import Jobs
from dpproxy.values.pgtypes import typed_columns

COLUMNS = typed_columns("kind name state done:numeric seconds:numeric")
"""``done`` is in percent, NULL where nobody knows; ``seconds`` since a job began."""


def rows(
    sources: Mapping[str, bool], policy: Policy, ledger: Ledger, sessions: int, jobs: Jobs, *, prepares: bool
) -> Iterator[tuple[object, ...]]:
    """The rows: data sources, what this one rests on, and its jobs."""
    for name, is_served in sources.items():
        yield "source", name, "served" if is_served else "not served: the log says why", None, None
    yield "policy", f"version {policy.version}", f"data version {policy.data_version}", None, None
    commits, seconds = ledger.writer.commits, ledger.writer.seconds
    mean = f", {1000 * seconds / commits:.1f} ms each" if commits else ""
    yield "ledger", "writes", f"{commits} since the start{mean}", None, None
    yield "sessions", "open", str(sessions), None, None
    if not prepares:
        yield "tables", "prepared", "not kept: statements bound rows one by one", None, None
    now = time.monotonic()
    for job in jobs.all():
        share = job.look()
        done = None if share is None else Decimal(round(100 * share))
        yield job.kind, job.name, "under way", done, Decimal(f"{now - job.began:.1f}")
