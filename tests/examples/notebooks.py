"""Runs the cells of the notebooks in examples/, and with --write stores what they show in the files.

``DP_URL=postgresql://... python -m tests.examples.notebooks --write``
"""

import ast
import base64
import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from dpproxy.notebook import magic

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of its cells; what a cell raises is raised."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(code, start=1):
        printed = io.StringIO()
        with redirect_stdout(printed):
            value = _value("".join(cell["source"]), names)
        cell["execution_count"] = number
        cell["outputs"] = list(_outputs(value, printed.getvalue(), number))
    return notebook


def _value(source: str, names: dict[str, Any]) -> object:
    """The value of a cell's last expression, None where it ends with a statement."""
    if source.startswith("%%dp"):
        line, _, cell = source.partition("\n")
        return magic.run(line.removeprefix("%%dp"), cell, names)
    body = ast.parse("\n".join(line for line in source.splitlines() if not line.startswith("%"))).body
    last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return None if last is None else eval(compile(last, "cell", "eval"), names)


def _outputs(value: object, printed: str, number: int) -> Iterator[dict[str, object]]:
    if printed:
        yield {"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)}
    if value is not None:
        data: dict[str, object] = {"text/plain": str(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_png_"):
            data = {"image/png": base64.b64encode(value._repr_png_()).decode(), "text/plain": ["a chart"]}
        elif hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        yield {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}


if __name__ == "__main__":
    for each in NOTEBOOKS:
        done = run(each)
        if "--write" in sys.argv:
            each.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
