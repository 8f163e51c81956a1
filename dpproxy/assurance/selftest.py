"""``dpproxy selftest``: try every attack against twins of made-up people under the policy as it is configured."""

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import asdict

from dpproxy.assurance.clock import PADDING, timed
from dpproxy.assurance.homes import twins
from dpproxy.assurance.run import Finding, run
from dpproxy.backends.duckdb.snapshot import snapshot
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.config.configuration import Config, check_files, load_config
from dpproxy.planner.views import read_views
from dpproxy.policy.files import apply_file, read_file
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.store import PolicyStore
from dpproxy.policy.usable import usable
from dpproxy.state.directory import prepare
from dpproxy.system.disk import is_sqlite
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import tell
from dpproxy.terminal.display import render
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import Schema


def selftest(arguments: Arguments) -> int:
    """Run the command; exit status 0 if every promise was kept, else 1. Raises ``StartupError``."""
    begun = time.monotonic()
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    path, schema = _data(config)
    policy, lines = usable(_policy(config, schema), schema)
    for line in lines:
        tell(line)
    if not any(table.exposure is Exposure.PROTECTED for table in policy.tables.values()):
        raise StartupError("the policy protects no table: there is nothing to attack")
    found: list[Finding] = []
    with tempfile.TemporaryDirectory(prefix="dpproxy-selftest-") as folder:
        for one in _checked(Path(folder), policy, schema, path, arguments.runs):
            found.append(one)
            for fault in one.faults:
                tell(f"BROKEN: {one.name}: {fault}")
    sys.stdout.write(_shown(found, as_json=arguments.json))
    broken = sum(not one.kept for one in found)
    tell(f"{len(found)} promises, {broken} broken, {time.monotonic() - begun:.0f} s")
    return 1 if broken else 0


def _checked(folder: Path, policy: Policy, schema: Schema, path: Path, runs: int) -> Iterator[Finding]:
    """First compare answers, on twins without padding (which hides only times); then time twins that have it."""
    for name, padding in (("plain", "0ms"), ("timed", PADDING)):
        (folder / name).mkdir()
        tell("starting two proxies over made-up people")
        with twins(folder / name, policy, schema, path, padding=padding) as pair:
            yield from timed(pair, tell) if name == "timed" else run(pair, runs, tell)


def _data(config: Config) -> tuple[Path, Schema]:
    """The file with the public tables, and the schema; no row of a protected table is read."""
    if config.data.path is None or is_sqlite(config.data.path):
        raise StartupError(f"data.{config.database}: the self-test needs DuckDB, Parquet or CSV files")
    if config.data.schemas or config.data.fold_names:
        raise StartupError(
            f"data.{config.database}: the self-test needs one schema, with names as the file spells them"
        )
    prepare(config, tell)
    config.state.mkdir(exist_ok=True, mode=0o700)
    path = snapshot(config.data.path, config.state, tell)
    backend = DuckDB(path)
    try:
        return path, read_views(backend.schema())
    finally:
        backend.close()


def _policy(config: Config, schema: Schema) -> Policy:
    """The policy of the configured files; without any, the policy in force."""
    if not config.policy_files:
        store = PolicyStore.open(config.state)
        try:
            return store.current
        finally:
            store.close()
    policy = Policy()
    for file in config.policy_files:
        policy = apply_file(policy, read_file(file), schema)
    return policy


def _shown(found: Sequence[Finding], *, as_json: bool) -> str:
    if as_json:
        return json.dumps([asdict(one) for one in found], indent=2) + "\n"
    rows = [[one.check, one.name, one.promised, one.found, "kept" if one.kept else "BROKEN"] for one in found]
    return render(["check", "what", "promised", "found", "verdict"], rows) + "\n"
