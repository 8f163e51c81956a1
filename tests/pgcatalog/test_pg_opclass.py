from dpproxy.pgcatalog.pg_opclass import of_type
from dpproxy.values.pgtypes import INT4, TEXT, VARCHAR, XID, array_of


def test_classes_of_types():
    assert of_type(INT4.oid, is_array=False) == 1978
    assert of_type(VARCHAR.oid, is_array=False) == of_type(TEXT.oid, is_array=False) == 3126
    assert of_type(array_of(INT4).oid, is_array=True) == 10000
    assert of_type(XID.oid, is_array=False) == 0
