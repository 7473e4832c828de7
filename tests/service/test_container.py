"""The steps of the Containerfile, in a fresh environment: what it would run, run here."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dmrank import Hurdle, make_ratings
from tests.service.running import Running, free_port

ROOT = Path(__file__).parents[2]
FILE = ROOT / "Containerfile"
LINES = FILE.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()


def instructions(name: str) -> list[str]:
    """Return what follows an instruction, wherever it stands."""
    return [line.removeprefix(name).strip() for line in LINES if line.startswith(f"{name} ")]


def environment(prefix: Path) -> dict[str, str]:
    """Return what the image sets."""
    found = dict(os.environ)
    for line in instructions("ENV"):
        for name, value in re.findall(r'(\w+)=("[^"]*"|\S*)', line):
            found[name] = _filled(value.strip('"'), prefix).replace("${PATH}", found["PATH"])
    return found


def _filled(text: str, prefix: Path) -> str:
    return text.replace("${PREFIX}", str(prefix))


def test_it_is_not_root_and_says_where_it_listens() -> None:
    assert instructions("USER") == ["dmrank"]
    assert instructions("EXPOSE") == ["8088"]
    assert "0.0.0.0" in instructions("ENTRYPOINT")[0]
    assert "--keys" in instructions("CMD")[0]


def test_it_takes_only_what_the_package_is_made_of() -> None:
    ignored = (ROOT / ".containerignore").read_text().split()
    assert ignored[0] == "*"
    for name in ignored[1:]:
        assert (ROOT / name.removeprefix("!")).exists()


@pytest.fixture
def prefix() -> Iterator[Path]:
    """A folder that others may look into, as those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="dmrank-container-"))
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)


@pytest.mark.skipif(
    os.environ.get("DMRANK_CONTAINER") != "1", reason="takes minutes: `make container` runs it"
)
def test_what_its_steps_make_answers_at_once_and_writes_nothing(
    prefix: Path, tmp_path: Path
) -> None:
    place = prefix / "dmrank"
    env = environment(place)
    build = [step for step in instructions("RUN") if "useradd" not in step]
    assert len(build) == 3
    for step in build:
        command = _filled(step, place).replace("python -m venv", f"{sys.executable} -m venv")
        subprocess.run(["/bin/sh", "-c", command], cwd=ROOT, env=env, check=True)
    subprocess.run(["chmod", "-R", "a-w", place], check=True)
    split = make_ratings(200, 50, 4_000, seed=1).ratings.split(seed=0)
    model = Hurdle(seed=0).fit(split.train, validation=split.validation)
    file = model.save(prefix / "model.dmrank")
    port = free_port()
    entry = json.loads(instructions("ENTRYPOINT")[0])
    command = [str(file) if part.startswith("/models") else part for part in entry]
    command[0] = str(place / "bin" / command[0])
    command[command.index("0.0.0.0")] = "127.0.0.1"
    log = tmp_path / "log"
    before = sorted(place.rglob("*"))
    start = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--ratings", "none"],
            env=env,
            cwd="/",
            stdout=output,
            stderr=output,
        )
    service = Running(process, port, log)
    try:
        service.wait_for("it is ready", lambda: service.get("/health/ready").status_code == 200)
        asked = time.monotonic()
        answer = service.get("/v1/recommend", user="u000003")
        first = time.monotonic() - asked
        assert answer.status_code == 200
        assert service.stop() == 0
    finally:
        service.client.close()
        if process.poll() is None:
            process.kill()
            process.wait()
    assert "compiling" not in service.log()
    assert first < 1, f"the first list took {first:.1f} s"
    assert sorted(place.rglob("*")) == before
    print(f"ready after {asked - start:.1f} s, the first list after {first * 1_000:.0f} ms")
