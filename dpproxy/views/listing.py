"""The rows of SHOW PRIVACY VIEWS."""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

from dpproxy.policy.dump import protected_view
from dpproxy.policy.model import ProtectedView
from dpproxy.policy.show import number
from dpproxy.values.pgtypes import typed_columns
from dpproxy.views.manifest import Built, newest

NANO = 10**9
UNBOUNDED = "its loss has no finite bound"
"""The note on views that are not differentially private."""
COLUMNS = typed_columns(
    "name method state guarantee epsilon:numeric delta:numeric builds:int8 rows:int8 epoch:int8 "
    "data_version:int8 charged created_at declaration"
)

Rows = list[tuple[object, ...]]


def listed(
    views: Mapping[str, ProtectedView],
    builds: Sequence[Built],
    digest_of: Callable[[ProtectedView], str | None],
    data_version: int,
    unfinished: Sequence[Built] = (),
) -> Rows:
    """One row for each declared view, by name; then one for each build of any view that was charged but has no rows.

    ``digest_of`` returns the digest of the query and domains that a view would be built from now, None if it cannot be.
    """
    rows = [_row(views[name], builds, digest_of(views[name]), data_version) for name in sorted(views)]
    return sorted([*rows, *map(_cut_short, unfinished)], key=lambda row: str(row[0]))


def _cut_short(build: Built) -> tuple[object, ...]:
    paid = Decimal(build.nano) / NANO, number(build.delta)
    state = f"build {build.epoch} is charged and was not finished"
    unknown = (None, None, build.epoch, build.data_version, _payers(build), build.at, build.definition)
    return build.view, build.method, state, None, *paid, *unknown


def _payers(build: Built) -> str:
    return ", ".join([f"ceiling of {build.owner}", *([build.charged] if build.charged else [])])


def _row(
    view: ProtectedView, builds: Sequence[Built], digest: str | None, data_version: int
) -> tuple[object, ...]:
    text = protected_view(view)
    build = newest(builds, view.name, text)
    begun = [b for b in builds if b.view == view.name]
    method = str(view.option("method"))
    if build is None:
        state = "not built" if digest is not None else "cannot be built: its query is refused now"
        return (view.name, method, state, None, None, None, len(begun), None, None, None, None, None, text)
    loss = (Decimal(build.nano) / NANO, number(build.delta)) if build.private else (None, None)
    guarantee = build.guarantee if build.private else f"{build.guarantee.rstrip('.')}; {UNBOUNDED}"
    return (
        view.name,
        method,
        _state(build, text, digest, data_version),
        guarantee,
        *loss,
        len(begun),
        None if build.inside else build.rows,
        build.epoch,
        build.data_version,
        _payers(build) if build.private else None,
        build.at,
        text,
    )


def _state(build: Built, text: str, digest: str | None, data_version: int) -> str:
    """In words: whether a build has been released, and whether building again now would use the same inputs."""
    where = "inside" if build.inside else "released"
    if build.definition != text:
        return f"{where}, of an older declaration"
    if digest is None:
        return f"{where}, stale: its query is refused now"
    if digest != build.digest:
        return f"{where}, stale: its tables are declared otherwise now"
    if data_version != build.data_version:
        return f"{where}, of data version {build.data_version}"
    return where
