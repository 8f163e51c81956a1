from dpproxy.algebra.plan import Notice
from dpproxy.engine.sessions import Sessions


def test_a_session_is_remembered_until_it_is_closed():
    sessions = Sessions()
    sessions.open("a")
    sessions.find("a").last_cost = 3
    assert sessions.find("a").last_cost == 3
    sessions.close("a")
    assert sessions.find("a").last_cost is None


def test_what_is_told_is_told_once():
    sessions = Sessions()
    sessions.open("a")
    sessions.find("a").notices.append(Notice("half"))
    assert [n.message for n in sessions.find("a").news()] == ["half"]
    assert sessions.find("a").news() == []


def test_a_cancel_is_for_the_statement_that_is_inside_and_for_no_other():
    sessions = Sessions()
    sessions.open("a")
    session = sessions.find("a")
    session.cancel()
    assert not session.cancelled.is_set()
    with session.inside():
        assert not session.cancelled.is_set()
        session.cancel()
        assert session.cancelled.is_set()
    assert not session.cancelled.is_set()
    session.cancel()
    with session.inside():
        assert not session.cancelled.is_set()
