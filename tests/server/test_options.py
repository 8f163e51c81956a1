from dpproxy.server.options import Options


def test_secrets_are_not_shown():
    options = Options()
    assert len(options.mock_key) == 32
    assert "mock_key" not in repr(options)
    assert Options().mock_key != options.mock_key
