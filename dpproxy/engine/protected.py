"""Protected views: they are planned, charged, built and stored here, and loaded for the statements that read them."""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.accounts import limited
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Charge, Debit
from dpproxy.algebra.plan import Notice
from dpproxy.anonymize import dp_cube
from dpproxy.anonymize.model import WORDS, Anonymized, InvalidOption, Method, Table, Unachievable, ViewBuild
from dpproxy.backends.failures import ViewUnavailable
from dpproxy.backends.source import Source
from dpproxy.planner.access import Context
from dpproxy.planner.protected import ViewQuery
from dpproxy.planner.query import plan_cube, plan_view
from dpproxy.planner.reuse.cubes import CubeQuery
from dpproxy.policy.dump import alter_table, protected_view
from dpproxy.policy.guidance import CEILING
from dpproxy.policy.model import CUBE, Ceiling, Policy, ProtectedView
from dpproxy.system.processor import any_processor
from dpproxy.values.errors import (
    BoundsMissing,
    BudgetExceeded,
    Cancelled,
    Internal,
    InvalidParameter,
    Refusal,
)
from dpproxy.views import files
from dpproxy.views.make import checked, figures, made, own_options, places, relations
from dpproxy.views.manifest import Built, Manifest, current, newest
from dpproxy.views.materialized import Materialized
from udfs.privacy import Exact

Positions = Mapping[str, int | None]
"""The position of each option's value in the statement, by the option's name."""
NOTICE_INTERVAL = 1.0
"""Seconds between two notices of one build."""
MEASURING = 60.0
"""Seconds to wait for the figures of a build."""


class BuildOrder(Struct, frozen=True):
    """A build that somebody has requested: by whom, how progress is reported, and whether it was cancelled."""

    by: str
    session: str
    tell: Callable[[Notice], None]
    cancelled: Callable[[], bool]
    positions: Positions
    charged: Callable[[], None] = lambda: None
    """Puts on record that the build is charged, before a row is read."""
    move: Callable[[float], None] = lambda _: None
    """Is told which part of the build is done."""


class PlannedView(Struct, frozen=True):
    """A view that is planned, validated and priced; no row was read."""

    view: ProtectedView
    query: ViewQuery | CubeQuery
    method: Method | None
    """None for a cube, which has one of its own."""
    build: ViewBuild
    debits: tuple[Debit, ...]
    epoch: int
    """The data source's epoch before planning; the build is refused where it has changed since."""

    @property
    def is_private(self) -> bool:
        """Whether what is made is differentially private."""
        return self.method is None or self.method.private

    @property
    def digest(self) -> str:
        """The digest of the view's query."""
        return self.query.digest


class ProtectedViews:
    """The views of one data source; its methods may be called from any thread, one build at a time."""

    def __init__(self, state: Path, backend: Source, ledger: Ledger, secret: bytes) -> None:
        self._state = state
        self._backend = backend
        self._ledger = ledger
        self._secret = secret
        self._manifest = Manifest.open(state)
        self._measurer = ThreadPoolExecutor(1, "measure")
        self._measures: dict[str, Future[None]] = {}
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._found: Mapping[str, Materialized] = {}
        self._loaded: dict[str, tuple[Path, str]] = {}
        self._epoch = backend.epoch
        files.sweep(state)

    # --- reading ----------------------------------------------------------------------------------

    @property
    def relations(self) -> Mapping[str, Materialized]:
        """The relations of all built views, by name."""
        return self._found

    @property
    def tables(self) -> frozenset[str]:
        """The names of the backend's tables that hold the views' rows."""
        if self._backend.epoch != self._epoch:
            self._reload()
        return frozenset(self._loaded)

    @property
    def are_loaded(self) -> bool:
        """Whether the rows are loaded, so that ``tables`` returns at once."""
        return self._backend.epoch == self._epoch

    def fit(self, policy: Policy, taken: Callable[[str], bool]) -> list[str]:
        """Load the latest builds of a policy's views; returns a line for each view that has none.

        ``taken`` says whether the data source has a relation of that name, which then hides the view.
        """
        with self._loading:
            builds, lines, kept = self._manifest.all(), [], {}
            wanted: dict[str, tuple[Path, str]] = {}
            titles: dict[Path, str] = {}
            for view in policy.views.values():
                build = newest(builds, view.name, protected_view(view))
                if build is None or taken(view.name):
                    lines.append(f"{view.title} is not there: REFRESH {view.kind.upper()} builds it")
                    continue
                path = files.file_of(self._state, view.name, build.epoch)
                if not path.exists():
                    lines.append(f"{view.title} is not there: its file is missing")
                    continue
                titles[path] = view.title
                for relation, sql in _relations(build, view):
                    kept[relation.name] = relation
                    wanted[relation.table] = (path, sql)
            lost = self._load(wanted, kept)
            return [
                *lines,
                *(f"{titles[path]} is not there: its file cannot be read" for path in sorted(lost)),
            ]

    def _reload(self) -> None:
        """Load all rows again, after the backend was reopened."""
        with self._loading:
            self._epoch = self._backend.epoch
            wanted, self._loaded = self._loaded, {}
            self._load(wanted, self._found)

    def _load(self, wanted: Mapping[str, tuple[Path, str]], found: Mapping[str, Materialized]) -> set[Path]:
        """Load what is not loaded yet; returns the files that cannot be read, whose views are left out."""
        lost: set[Path] = set()
        for name, (path, sql) in wanted.items():
            if name not in self._loaded:
                try:
                    self._backend.load(name, path, sql)
                except ViewUnavailable:
                    lost.add(path)
        wanted = {name: one for name, one in wanted.items() if one[0] not in lost}
        found = {name: relation for name, relation in found.items() if relation.table in wanted}
        stale = self._loaded.keys() - wanted.keys()
        self._found = found  # before unloading: cached plans depend on ``tables``, and read no others
        self._loaded = dict(wanted)
        for name in stale:
            self._backend.unload(name)
        return lost

    def builds(self) -> list[Built]:
        """All builds on record, also unfinished ones."""
        return self._manifest.all()

    def build_of(self, view: ProtectedView) -> Built | None:
        """The current build of a view with its present declaration; None where there is none."""
        return current(self._manifest.all(), view.name, protected_view(view))

    # --- building ---------------------------------------------------------------------------------

    def plan(self, view: ProtectedView, context: Context, positions: Positions) -> PlannedView:
        """Compile, validate and price a view; reads no row. Raises a ``Refusal``."""
        epoch = self._backend.epoch
        is_cube = view.kind == CUBE
        query = (plan_cube if is_cube else plan_view)(view.name, view.query, context)
        context.check(query.query, ())
        owner = query.owner
        if owner.ceiling is None:
            raise BoundsMissing(
                f'table "{owner.name}" has no privacy ceiling: no {view.kind} of it can be built',
                hint=f"{alter_table(owner.name, None, f'CEILING EPSILON {CEILING}')};",
            )
        try:
            method, build = _method(view, query)
        except InvalidOption as error:
            message = f"option {error.option}: {error}" if error.option else str(error)
            raise InvalidParameter(message, hint=error.hint, position=positions.get(error.option)) from None
        return PlannedView(
            view, query, method, build, _debits(view, owner.name, owner.ceiling, context.policy), epoch
        )

    def build(
        self, planned: PlannedView, policy: Policy, order: BuildOrder, declare: Callable[[], object]
    ) -> Built:
        """Charge a view, read its rows, build it and store it. ``declare`` is called once its file is on the disk.

        Errors: PD001 before anything is read. After any later error the charge stays, and so does the previous build.
        """
        with self._lock:
            self._check_frozen(planned, policy)
            started = self._manifest.begin(begun(planned, policy, order.by))
            if planned.build.loss is not None:
                self._charge(planned, started, planned.build.loss.nano, policy)
                order.charged()
            view, query = planned.view, planned.query
            parameters = {"1": self._secret.hex()} if query.truncated else {}
            asked = query.query, parameters, order.session
            exact = self._backend.run(*asked, cancelled=order.cancelled, epoch=planned.epoch)
            with any_processor():
                rows, found = _run_method(planned, exact, order)
            kept = relations(planned.build, query.shown, found)
            path = files.file_of(self._state, view.name, started.epoch)
            files.write(path, kept, inside=found.inside)
            done = replace(
                started,
                inside=found.inside,
                rows=len(found.rows),
                relations={suffix: (one.rows.num_rows, one.columns) for suffix, one in kept.items()},
            )
            self._manifest.finish(done)
            declare()
            files.remove(self._state, view.name, [started.epoch])
            self._measures[view.name] = self._measurer.submit(self._measure, planned, done, rows, found)
            return done

    def _measure(self, planned: PlannedView, done: Built, rows: Table, found: Anonymized) -> None:
        """Store figures of a build's information loss and risk, which are exact; the builder does not wait for them.

        A cube has none: it is no table of people.
        """
        if planned.method is None:
            return
        with any_processor():
            known = figures(planned.view, planned.build, planned.query.columns, rows, found)
            self._manifest.measured(done, known)

    def await_figures(self, view: str) -> None:
        """Wait until the figures of a view's latest build are stored, at most ``MEASURING`` seconds."""
        begun = self._measures.get(view)
        if begun is not None:
            wait((begun,), MEASURING)

    def remove_files(self, view: str) -> None:
        """Remove the files of a view that was dropped."""
        files.remove(self._state, view, [])

    def close(self) -> None:
        """Close the files; the measurement that runs is finished, those behind it are cancelled."""
        self._measurer.shutdown(wait=True, cancel_futures=True)
        self._manifest.close()

    def _check_frozen(self, planned: PlannedView, policy: Policy) -> None:
        """Refuse a second build of the same data by methods without differential privacy, which could reveal rows."""
        if planned.is_private:
            return
        tables = set(planned.query.tables)
        others = [
            b
            for b in self._manifest.all()
            if not b.private and b.data_version == policy.data_version and tables & set(b.tables)
        ]
        text = protected_view(planned.view)
        if any(b.definition == text and b.rows is not None for b in others):
            raise InvalidParameter(
                f'protected view "{planned.view.name}" is frozen: it was built for these data',
                detail="A second release of the same rows would tell what the first one hides.",
                hint="ADVANCE PRIVACY DATA VERSION; once there are new data, and REFRESH it then.",
            )
        other = next((b for b in others if b.definition != text), None)
        if other is not None and planned.view.option("reason") is None:
            raise InvalidParameter(
                f'the same rows were released by {other.method} as protected view "{other.view}"',
                detail="Two releases that are not private differentially may tell together what each one hides.",
                hint="State why, with the option reason; it is recorded.",
            )

    def unfinished(self) -> list[Built]:
        """The builds that were charged and have no rows: interrupted, refused while reading rows, or still running."""
        begun = {b.key: b for b in self._manifest.all() if b.private and b.rows is None}
        paid = self._ledger.charged(list(begun))
        return [build for key, build in begun.items() if key in paid]

    def _charge(self, planned: PlannedView, begun: Built, nano: int, policy: Policy) -> None:
        """Debit ceiling and budget, durably."""
        key = begun.key
        charge = Charge(
            who=begun.by,
            statement=key,
            policy_version=policy.version,
            data_version=policy.data_version,
            mechanism=begun.method,
            nano=nano,
            debits=planned.debits,
            release=key,
            label=f"{planned.view.kind} {begun.view} by {begun.method}",
            delta=planned.build.delta,
        )
        try:
            self._ledger.reserve(charge)
        except BudgetExceeded as refusal:
            refusal.hint = (
                "Build it for less: with a smaller epsilon or no delta; no setting changes its options."
            )
            raise


def _method(view: ProtectedView, query: ViewQuery | CubeQuery) -> tuple[Method | None, ViewBuild]:
    """The method of a view, with its guarantee and price. Raises ``InvalidOption``; reads no row."""
    if isinstance(query, CubeQuery):
        return None, dp_cube.check(query.request(own_options(view)), query.shape, query.figures)
    from dpproxy.anonymize.methods import METHODS  # noqa: PLC0415 - loaded where a view is built

    return checked(view, query.columns, query.expected_rows, METHODS, query.together)


def _run_method(planned: PlannedView, exact: Exact[pa.Table], order: BuildOrder) -> tuple[Table, Anonymized]:
    """The rows and the method's result. Internal errors of the method are replaced: their text may quote a row."""
    title = planned.view.title
    try:
        rows = places(planned.query.columns, exact, nulls=planned.build.nulls)
        return rows, made(planned.build, rows, WORDS, _progress(title, order))
    except Unachievable as error:
        raise InvalidParameter(f"{title} cannot be built: {error}") from None
    except Refusal:
        raise
    except Exception:  # noqa: BLE001
        raise Internal(f"{title} could not be built; it stays charged") from None


def _debits(view: ProtectedView, owner: str, ceiling: Ceiling, policy: Policy) -> tuple[Debit, ...]:
    """The accounts that a view debits: the budget that it names, if any, and the ceiling."""
    is_concentrated = ceiling.concentrated
    whole = limited(Account.ceiling(owner), ceiling.epsilon, ceiling.delta, concentrated=is_concentrated)
    budget = policy.budgets.get(str(view.option("charge")))
    if budget is None:
        return (whole,)
    account = Account.budget(budget.name)
    part = limited(account, budget.limit, budget.delta, budget.refresh, concentrated=is_concentrated)
    return (part, whole)


def begun(planned: PlannedView, policy: Policy, by: str) -> Built:
    """What is written down of a build before its rows are read."""
    build, view = planned.build, planned.view
    return Built(
        view=view.name,
        epoch=0,
        definition=protected_view(view),
        method=planned.build.method or ("" if planned.method is None else planned.method.name),
        private=planned.is_private,
        inside=view.is_inside,
        k=build.k,
        guarantee=_promised(build.guarantee, planned),
        nano=0 if build.loss is None else build.loss.nano,
        delta=build.delta,
        data_version=policy.data_version,
        owner=planned.query.owner.name,
        tables=planned.query.tables,
        charged=str(view.option("charge") or ""),
        reason=str(view.option("reason") or ""),
        digest=planned.digest,
        at="",
        by=by,
    )


def _promised(guarantee: str, planned: PlannedView) -> str:
    """The method's guarantee, completed for differentially private rows by the privacy unit."""
    unit = planned.query.owner.unit
    if not planned.is_private or planned.view.is_inside or unit is None:
        return guarantee
    one = "row" if unit.key is None else f"{unit.key} of {planned.query.owner.name}"
    return f"{guarantee}: one {one} more or less"


def _progress(title: str, order: BuildOrder) -> Callable[[float], None]:
    """A callback that reports progress, at most every ``NOTICE_INTERVAL`` seconds, and raises ``Cancelled``."""
    last = time.monotonic()

    def report(share: float) -> None:
        nonlocal last
        if order.cancelled():
            raise Cancelled("canceling statement due to user request")
        order.move(share)
        now = time.monotonic()
        if now - last >= NOTICE_INTERVAL:
            last = now
            order.tell(Notice(f"{title}: {share:.0%} built"))

    return report


def _relations(build: Built, view: ProtectedView) -> list[tuple[Materialized, str]]:
    """The relations of a build, each with the SQL that reads its rows from the build's file."""
    found = []
    for suffix, (rows, columns) in (build.relations or {}).items():
        name = view.name if not suffix else f"{view.name}_{suffix}"
        table = (
            f"w{hashlib.sha256(f'{name}/{build.epoch}/{build.at}/{build.digest}'.encode()).hexdigest()[:24]}"
        )
        relation = Materialized(
            name,
            view.name,
            table,
            columns,
            rows,
            build.private,
            build.inside,
            build.k,
            build.guarantee,
            build.owner,
            build.tables[0],
            view.query,
            build.digest,
            build.definition,
            build.data_version,
        )
        found.append((relation, files.held(suffix, columns, inside=build.inside)))
    return found


def at_offset(refusal: Refusal, offset: int) -> Refusal:
    """The refusal of a view's query, with its position moved to the statement around the query."""
    if refusal.position is not None:
        refusal.position += offset
    return refusal
