"""How many lines of code the product has: without blank lines, comments, docstrings and imports.

``python -m tests.code_lines`` prints the number for each folder.
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


def code_lines(source: str) -> int:
    """Of one module."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Import | ast.ImportFrom) or (is_text and isinstance(node.value.value, str)):
            left_out.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - left_out)


def main() -> None:
    folders: Counter[str] = Counter()
    for package in ("dpproxy", "udfs"):
        for path in (ROOT / package).rglob("*.py"):
            folders["/".join(path.relative_to(ROOT).parts[:-1])] += code_lines(
                path.read_text(encoding="utf-8")
            )
    for folder, lines in folders.most_common():
        print(f"{lines:6} {folder}")
    print(f"{folders.total():6} lines of code")


if __name__ == "__main__":
    main()
