from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.planner.open import OpenColumn
from dpproxy.values.pgtypes import INT8, Column


def test_a_client_sees_the_name_and_the_type():
    assert OpenColumn("n", Typed(duck.column("c0"), INT8)).column == Column("n", INT8)
