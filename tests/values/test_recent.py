"""The least recently used entry is the one that is forgotten."""

from dpproxy.values.recent import Recent


def test_what_was_used_last_stays():
    kept = Recent[int](2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_a_key_holds_its_newest_value():
    kept = Recent[int](2)
    kept.put("a", 1)
    kept.put("b", 2)
    kept.put("a", 3)
    kept.put("c", 4)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (3, None, 4)
