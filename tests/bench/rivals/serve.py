"""How a candidate in an environment of its own is talked to: a line of JSON for each request and for each answer.

Knows nothing of this project or of its environment. A request is ``{"folder": ...}``, the rows from then on, or a
question: its name, epsilon and how many runs. The answer has each run's rows, the seconds of the first, which had to be
planned, and those of the others, which had not; or ``refused`` and why.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

warnings.filterwarnings("ignore")
Columns = dict[str, dict[str, np.ndarray]]
Rows = list[list[object]]
Ask = Callable[[], Rows]


class Refused(Exception):
    """A question that cannot be asked of this candidate, and why."""


def columns(folder: str) -> Columns:
    """Each table's columns."""
    found: Columns = {}
    for path in sorted(Path(folder).glob("*.npy")):
        table, name, _ = path.name.split(".")
        found.setdefault(table, {})[name] = np.load(path)
    return found


def answer(
    prepare: Callable[[str, float], Ask], question: str, epsilon: float, runs: int
) -> dict[str, object]:
    """Ask so often. ``prepare`` plans; what it gives asks."""
    begun = time.perf_counter()
    try:
        ask = prepare(question, epsilon)
        rows = [ask()]
    except Exception as error:  # noqa: BLE001 - a refusal is whatever the library raises
        text = " ".join(str(error).split())
        return {"refused": text or type(error).__name__}
    first, later = time.perf_counter() - begun, []
    for _ in range(runs - 1):
        begun = time.perf_counter()
        rows.append(ask())
        later.append(time.perf_counter() - begun)
    return {"rows": rows, "first": first, "later": later}


def main(version: str, load: Callable[[Columns], Callable[[str, float], Ask]]) -> None:
    """Answer until there is nothing more to read. ``load`` makes ready what was read, once."""
    say({"version": version})
    prepare: Callable[[str, float], Ask] | None = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "folder" in asked:
            prepare = load(columns(asked["folder"]))
            say({})
        else:
            say(answer(prepare, **asked))


def say(told: dict[str, object]) -> None:
    """A line. Numbers of numpy are numbers."""
    sys.stdout.write(json.dumps(told, default=float) + "\n")
    sys.stdout.flush()
