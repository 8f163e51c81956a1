from dpproxy.algebra.plan import Accuracy
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open.relations import OpenColumn, farther
from dpproxy.values.pgtypes import INT8, Column


def test_a_client_sees_the_name_and_the_type():
    assert OpenColumn("n", Typed(duck.column("c0"), INT8)).column == Column("n", INT8)


def test_two_columns_in_one_are_as_far_off_as_the_farther():
    near, far, unknown = Accuracy(half=1.0), Accuracy(half=2.0), Accuracy(words="unknown")
    assert farther(near, far) == farther(far, near) == far
    assert farther(near, unknown) == farther(unknown, far) == unknown
    assert farther(None, near) == farther(near, None) == near
    assert farther(None, None) is None
