# ruff: noqa: FBT003 - records written out

from fractions import Fraction

import numpy as np
from msgspec.structs import replace

from dpproxy.anonymize.model import Anonymized, ViewBuild
from dpproxy.policy.model import Grant, Policy
from dpproxy.views.manifest import Built
from dpproxy.views.materialized import Materialized
from dpproxy.views.notices import built_notice, masked_notices

BUILD = Built(
    "v",
    1,
    "",
    "m",
    True,
    False,
    0,
    "Words.",
    25 * 10**7,
    Fraction(0),
    1,
    "t",
    ("t",),
    "",
    "",
    "",
    "",
    "root",
    3,
    {},
)
MADE = ViewBuild("Words", None, lambda *_: Anonymized(np.zeros((0, 0), np.int64)))
VIEW = Materialized("v", "v", "w", (), 3, True, False, 0, "Words", "t", "t", "SELECT 1")


def test_a_build_tells_its_price_its_guarantee_and_what_was_left_out():
    notice = built_notice(BUILD, ("id",), MADE)
    assert notice.message == 'protected view "v" is built: cost 0.25 epsilon'
    assert notice.detail == "Words. Left out, since they tell people apart: id."
    assert "Changed: cost, age; every" in str(
        built_notice(BUILD, (), replace(MADE, changed=("cost", "age"))).detail
    )
    assert "no finite bound" in built_notice(replace(BUILD, private=False), (), MADE).message
    assert built_notice(replace(BUILD, inside=True), (), MADE).hint is None


def test_who_may_read_what_has_no_bound_is_told():
    policy = Policy(grants=(Grant("v", "a", None), Grant("w", "b", None)))
    assert masked_notices(policy, {"v": VIEW}) == ()
    [notice] = masked_notices(policy, {"v": replace(VIEW, private=False)})
    assert notice.message == 'role "a" reads protected view "v": its loss has no finite bound'
