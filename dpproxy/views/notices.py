"""Notices about protected views: of a finished build, and of losses without a bound."""

from collections.abc import Mapping

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Notice
from dpproxy.policy.model import CUBE, CUBE_METHOD, VIEW, Policy
from dpproxy.views import listing
from dpproxy.views.manifest import Built
from dpproxy.views.materialized import Materialized


def built_notice(
    build: Built, left_out: tuple[str, ...], changed: tuple[str, ...] = (), error: str = ""
) -> Notice:
    """The notice of a finished build: price, guarantee, ``error``, and which columns were left out or ``changed``."""
    kind = CUBE if build.method == CUBE_METHOD else VIEW
    price = f"cost {format_epsilon(build.nano)} epsilon" if build.private else listing.UNBOUNDED
    left = f" Left out, since they tell people apart: {', '.join(left_out)}." if left_out else ""
    only = f" Changed: {', '.join(changed)}; every other column is released as it is." if changed else ""
    return Notice(
        f'{kind} "{build.view}" is built: {price}',
        detail=f"{build.guarantee.rstrip('.')}.{only}{left}{f' {error}.' if error else ''}",
        hint="No role may read it before it is granted." if not build.inside else None,
    )


def masked_notices(policy: Policy, found: Mapping[str, Materialized]) -> tuple[Notice, ...]:
    """A notice for each role that may read views that are not differentially private: its loss has no finite bound."""
    return tuple(
        Notice(f'role "{grant.role}" reads protected view "{grant.table}": {listing.UNBOUNDED}')
        for grant in policy.grants
        if grant.table in found and not found[grant.table].private
    )
