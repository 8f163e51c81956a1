import inspect
import re

import pytest

from dpproxy.values import errors
from dpproxy.values.errors import Refusal, StartupError

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, Refusal) and found is not Refusal
]


@pytest.mark.parametrize("found", CLASSES, ids=lambda found: found.__name__)
def test_a_refusal_has_a_sqlstate_and_says_what_it_is(found: type[Refusal]):
    assert re.fullmatch(r"[0-9A-Z]{5}", found.sqlstate)
    assert found.__doc__


@pytest.mark.parametrize("found", CLASSES, ids=lambda found: found.__name__)
def test_no_refusal_invites_drivers_to_try_again(found: type[Refusal]):
    # 40001 and 40P01 are retried by many, class 53 (but for connections) and 57P0x by some.
    assert not found.sqlstate.startswith("40")
    assert not found.sqlstate.startswith("53") or found.__name__ == "TooManyConnections"


def test_a_refusal_carries_what_a_client_is_told():
    refusal = errors.UndefinedColumn('column "x" does not exist', detail="d", hint="h", position=7)
    assert (refusal.message, refusal.detail, refusal.hint, refusal.position) == (
        'column "x" does not exist',
        "d",
        "h",
        7,
    )
    assert str(refusal) == 'column "x" does not exist'


def test_a_startup_error_is_no_refusal():
    assert not issubclass(StartupError, Refusal)
