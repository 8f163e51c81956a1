from dpproxy.wire import messages as m


def test_reprs_hide_values_and_secrets():
    shown = repr(
        [
            m.Bind("", "", (0,), (b"Ann",), ()),
            m.CopyData(b"Ann"),
            m.DataRows(b"Ann"),
            m.BackendKeyData(7, b"424242"),
        ]
    )
    assert "Ann" not in shown
    assert "424242" not in shown


def test_every_message_belongs_to_one_side():
    front, back = set(m.Frontend.__args__), set(m.Backend.__args__)
    assert not front & back
    assert {c for c in vars(m).values() if isinstance(c, type)} >= front | back
