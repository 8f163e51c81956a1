"""Notices about protected views: of a finished build, and of losses without a bound."""

from collections.abc import Mapping

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Notice
from dpproxy.anonymize.model import ViewBuild
from dpproxy.policy.model import CUBE, CUBE_METHOD, VIEW, Policy
from dpproxy.views import listing
from dpproxy.views.manifest import Built
from dpproxy.views.materialized import Materialized


def built_notice(build: Built, left_out: tuple[str, ...], made: ViewBuild) -> Notice:
    """The notice of a finished build."""
    kind = CUBE if build.method == CUBE_METHOD else VIEW
    return Notice(
        f'{kind} "{build.view}" is built: {price(build)}',
        detail=details(build, left_out, made),
        hint="No role may read it before it is granted." if not build.inside else None,
    )


def price(build: Built) -> str:
    """What a build costs."""
    return f"cost {format_epsilon(build.nano)} epsilon" if build.private else listing.UNBOUNDED


def details(build: Built, left_out: tuple[str, ...], made: ViewBuild) -> str:
    """The guarantee, which columns are left out or changed, and the predicted error."""
    left = f" Left out, since they tell people apart: {', '.join(left_out)}." if left_out else ""
    only = (
        f" Changed: {', '.join(made.changed)}; every other column is released as it is."
        if made.changed
        else ""
    )
    return f"{build.guarantee.rstrip('.')}.{only}{left}{f' {made.error}.' if made.error else ''}"


def masked_notices(policy: Policy, found: Mapping[str, Materialized]) -> tuple[Notice, ...]:
    """A notice for each role that may read views that are not differentially private: its loss has no finite bound."""
    return tuple(
        Notice(f'role "{grant.role}" reads protected view "{grant.table}": {listing.UNBOUNDED}')
        for grant in policy.grants
        if grant.table in found and not found[grant.table].private
    )
