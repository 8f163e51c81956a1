"""A Dockerfile as a container of it would run, without an engine: a root of its own, read-only, and no privilege.

Mounts are made in a namespace that ends with the process, so that nothing of them is left.
"""

import json
import re
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.install.wheel import ROOT

SYSTEM = ("/usr", "/dev", "/proc")
"""What a base image and the engine bring."""
LINKS = ("bin", "lib", "lib64", "sbin")


@dataclass(frozen=True, slots=True)
class Image:
    """What the last stage of a Dockerfile says of the containers made of it."""

    environment: dict[str, str]
    copies: list[tuple[str, str, str]]
    """From a stage or, where it is empty, from the project; source; target."""
    volumes: list[str]
    user: str
    folder: str
    entrypoint: list[str]
    command: list[str]
    health: list[str]


def read(path: Path) -> Image:
    """The last stage; instructions in exec form are JSON."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE).replace("\\\n", " ")
    words = [line.strip().partition(" ") for line in text.split("\nFROM ")[-1].splitlines()[1:]]
    found = {word: [rest for name, _, rest in words if name == word] for word, _, _ in words}
    return Image(
        environment=dict(pair.partition("=")[::2] for line in found["ENV"] for pair in shlex.split(line)),
        copies=[_copy(line) for line in found["COPY"]],
        volumes=json.loads(found["VOLUME"][-1]),
        user=found["USER"][-1],
        folder=found["WORKDIR"][-1],
        entrypoint=json.loads(found["ENTRYPOINT"][-1]),
        command=json.loads(found["CMD"][-1]),
        health=json.loads(found["HEALTHCHECK"][-1].partition(" CMD ")[2]),
    )


def _copy(line: str) -> tuple[str, str, str]:
    stage = re.match(r"--from=(\w+) ", line)
    source, target = line.removeprefix(stage[0] if stage else "").split()
    return stage[1] if stage else "", source, target


def lay_out(image: Image, root: Path, installed: Path) -> None:
    """The files of a container: what the image copies, with ``installed`` for what another stage has built."""
    for folder in (*SYSTEM, "/tmp", "/etc", "/lent", *image.volumes, sys.base_prefix):
        (root / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
    for link in LINKS:
        if Path("/", link).is_symlink():
            (root / link).symlink_to(Path("/", link).readlink())
    for stage, source, target in image.copies:
        place = root / target.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(installed if stage else ROOT / source), str(place)], check=True)
    _settle(root / "opt/dpproxy", installed)
    number = image.user.partition(":")[0]
    (root / "etc/passwd").write_text(f"dpproxy:x:{number}:{number}::/var/lib/dpproxy:/bin/false\n")
    for volume in image.volumes:
        subprocess.run(["chown", image.user, str(root / volume.lstrip("/"))], check=True)


def _settle(environment: Path, built: Path) -> None:
    """Scripts of a virtual environment name their interpreter by the path where it was made."""
    for script in (environment / "bin").iterdir():
        if not script.is_symlink() and script.is_file() and script.read_bytes()[:2] == b"#!":
            script.write_text(script.read_text().replace(str(built), "/opt/dpproxy"))
    (packages,) = (environment / "lib").glob("python*/site-packages")
    (packages / "lent.pth").write_text("/lent\n")


def inside(image: Image, root: Path, words: list[str], **more: str) -> list[str]:
    """The command line that runs one in a container: root read-only but for volumes and /tmp, no capability."""
    mounts = [f"mount --bind {root} {root}"]
    mounts += [f"mount --rbind {place} {root}{place}" for place in SYSTEM]
    mounts += [
        f"mount --bind {sys.base_prefix} {root}{sys.base_prefix}",
        f"mount --bind {sysconfig.get_path('purelib')} {root}/lent",
        f"mount -t tmpfs tmpfs {root}/tmp",
        *(f"mount --bind {root}{volume} {root}{volume}" for volume in image.volumes),
        f"mount -o remount,bind,ro {root}",
    ]
    user, group = image.user.split(":")
    environment = shlex.join(f"{name}={value}" for name, value in (image.environment | more).items())
    program = f"cd {shlex.quote(image.folder)} && exec {shlex.join(words)}"
    drop = f"setpriv --reuid={user} --regid={group} --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all"
    run = f"exec chroot {root} /usr/bin/env -i {environment} {drop} /bin/sh -c {shlex.quote(program)}"
    return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-euc", "\n".join([*mounts, run])]


def can_be_run() -> bool:
    """Whether this process may make mounts."""
    command = ["unshare", "--mount", "--propagation", "private", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
