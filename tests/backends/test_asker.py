"""Who asks, in one thread and not in another."""

import threading

from dpproxy.backends.asker import asked_by, asker, unpaid


def test_inside_it_is_the_session_that_was_named_last():
    assert asker() == ""
    with asked_by("a"):
        with asked_by("b"):
            assert asker() == "b"
        assert asker() == "a"
    assert asker() == ""


def test_another_thread_asks_for_nobody():
    found: list[str] = []
    with asked_by("a"):
        thread = threading.Thread(target=lambda: found.append(asker()))
        thread.start()
        thread.join()
    assert found == [""]


def test_what_is_not_paid_is_stopped_by_a_name_of_its_own():
    assert unpaid("a") != unpaid("b")
    assert unpaid("a") != "a"
