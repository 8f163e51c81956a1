"""How failed logins slow the next ones."""

from dpproxy.system.attempts import FIRST, HALF_LIFE, LONGEST, MOST_ADDRESSES, Attempts


def test_failed_logins_slow_their_address_and_no_other():
    attempts = Attempts()
    assert attempts.delay("10.0.0.1", 0) == 0
    attempts.add_failure("10.0.0.1", 0)
    assert attempts.delay("10.0.0.1", 0) == FIRST
    for _ in range(50):
        attempts.add_failure("10.0.0.1", 1)
    assert attempts.delay("10.0.0.1", 1) == LONGEST
    assert attempts.delay("10.0.0.2", 1) == 0
    assert attempts.delay("10.0.0.1", 1 + 20 * HALF_LIFE) == 0
    attempts.add_failure("2001:db8::1", 0)
    assert attempts.delay("2001:db8::ffff:2", 0) == FIRST
    assert attempts.delay("2001:db8:1::1", 0) == 0


def test_addresses_that_are_remembered_are_limited():
    attempts = Attempts()
    for n in range(MOST_ADDRESSES + 5):
        attempts.add_failure(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}", 0)
    assert attempts.delay("10.0.0.0", 0) == 0
    assert len(attempts._failed) == MOST_ADDRESSES


def test_a_failure_may_be_taken_back():
    attempts = Attempts()
    attempts.add_failure("10.0.0.1", 0)
    attempts.forgive("10.0.0.1", 0)
    attempts.forgive("10.0.0.1", 0)
    assert attempts.delay("10.0.0.1", 0) == 0
    attempts.add_failure("10.0.0.1", 0)
    assert attempts.delay("10.0.0.1", 0) == FIRST
