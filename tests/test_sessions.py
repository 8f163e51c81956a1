from dpproxy.plan import Notice
from dpproxy.sessions import Sessions


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
    sessions.find("a").told.append(Notice("half"))
    assert [n.message for n in sessions.find("a").news()] == ["half"]
    assert sessions.find("a").news() == []
