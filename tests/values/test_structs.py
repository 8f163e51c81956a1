"""What a struct hides, and what of it is not compared."""

from msgspec import Struct

from dpproxy.values.structs import PartlyCompared, PartlyShown


class Login(PartlyShown, PartlyCompared, Struct, frozen=True):
    HIDDEN = frozenset({"password"})
    UNCOMPARED = frozenset({"at"})

    user: str
    password: str
    at: int = 0


class Other(Login, frozen=True):
    pass


def test_what_is_hidden_is_in_no_text():
    one = Login("ann", "secret", 7)
    assert repr(one) == str(one) == f"{one}" == "Login(user='ann', at=7)"
    assert "secret" not in repr([one]) + repr({"one": one})


def test_what_is_not_compared_makes_no_difference():
    assert Login("ann", "a", 1) == Login("ann", "a", 2)
    assert hash(Login("ann", "a", 1)) == hash(Login("ann", "a", 2))
    assert Login("ann", "a") != Login("ann", "b")
    assert Login("ann", "a") != Login("bob", "a")


def test_another_class_is_never_equal():
    assert Login("ann", "a") != Other("ann", "a")
    assert Login("ann", "a") != ("ann", "a", 0)
