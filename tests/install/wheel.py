"""The wheel as a stranger has it: built, and installed in an environment that nothing else of the project is in."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]


def build(folder: Path) -> Path:
    """The wheel, built in a folder of its own."""
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(folder)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(ROOT)], check=True)
    (wheel,) = folder.glob("dpproxy-*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """A new environment with the wheel. What it depends on is lent by this one: it takes minutes to install."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    options = ["--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", *options, str(wheel)], check=True)
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    # Only a line in a path file: what is installed there to be edited, as dpproxy itself, is not lent with it.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


def environment() -> dict[str, str]:
    """Nothing of the project is in it."""
    dropped = ("DPPROXY_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
