from pathlib import Path

import pytest

from dpproxy.cli.main import main
from tests.hospital import home

pytestmark = pytest.mark.usefixtures("in_process")

VIEW = "CREATE PROTECTED VIEW v WITH (method = mdav, k = 5) AS SELECT age, cost FROM patients;\n"


def test_views_are_listed_verified_and_built_anew_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = str(home(tmp_path, VIEW + "GRANT EXACT SELECT ON patients TO dpo;\n"))
    assert main(["policy", "apply", "--config", file]) == 0
    assert 'protected view "v" is built' in capsys.readouterr().err
    assert main(["view", "list", "--config", file]) == 0
    assert "5-anonymity" in capsys.readouterr().out
    assert main(["view", "verify", "v", "--config", file]) == 0
    assert "not shown" in capsys.readouterr().err
    assert main(["view", "verify", "v", "--role", "dpo", "--config", file]) == 0
    assert "not shown" not in capsys.readouterr().err
    assert main(["view", "build", "v", "--config", file]) == 1
    assert "frozen" in capsys.readouterr().err
