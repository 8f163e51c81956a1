from pathlib import Path

import pytest

from dpproxy.config.text import ConfigError, not_toml, place_of, read_text

TEXT = """\
[server]
  listen = "h:1"

[ data.main ]
"path" = "x"
"""


@pytest.mark.parametrize(
    ("dotted", "place"),
    [("server.listen", (2, 3)), ("data.main.path", (5, 1)), ("data.main", (4, 1)), ("server.padding", None)],
)
def test_a_key_has_a_place(dotted: str, place: tuple[int, int] | None):
    assert place_of(TEXT, dotted) == place


def test_a_mistake_has_its_own_place_and_a_file_none():
    error = not_toml(Path("f"), "a\nb", "Expected '=' (at line 1, column 2)")
    assert (error.line, error.column, str(error)) == (1, 2, "f:1:2: not TOML: Expected '='")
    assert not_toml(Path("f"), "a\nb", "Unclosed (at end of document)").line == 2
    with pytest.raises(ConfigError, match="no such configuration file") as caught:
        read_text(Path("/none/at/all.toml"))
    assert (caught.value.line, caught.value.column) == (None, None)
