"""Whether a release is whole: version, tag, changelog, golden files, bytes, wheel, demo.

    python release/check.py                    # everything, up to the upload
    python release/check.py --before-tag       # before it is tagged and committed

Run by `make release-check`, with an interpreter that has `build` and `twine`. Each check says in a
line what it found; the first that fails ends the run with exit code 1. What was built and passed
is in `dist/`, to be uploaded as it is.
"""

import argparse
import datetime as dt
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Files that name the version for somebody outside; the code says it in one place.
NAMED_IN = {
    "CITATION.cff": r"^version: (\S+)$",
    "release/conda/recipe.yaml": r'^  version: "(\S+)"$',
    "docs/project/cite.md": r"^  version = \{(\S+)\},$",
    "docs/start/install.md": r"dmrank-(\S+)-py3-none-any\.whl",
    "docs/how-to/containers.md": r"dmrank-(\S+?)-py3-none-any\.whl",
}


class NotReadyError(Exception):
    """What has to be done before this can be released."""


def read(path: str) -> str:
    """Return the text of a file of the project."""
    return (ROOT / path).read_text(encoding="utf-8")


def git(*arguments: str) -> str:
    """Return what git says."""
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def check_version() -> str:
    """Return the version, which is written in one place, and named right in others."""
    version = re.findall(
        r'^__version__ = "(\d+\.\d+\.\d+)"$', read("src/dmrank/support/version.py"), re.MULTILINE
    )
    if len(version) != 1:
        raise NotReadyError("support/version.py has no version of the form 1.2.3")
    if "version" in tomllib.loads(read("pyproject.toml"))["project"]:
        raise NotReadyError("pyproject.toml says the version as well: it is taken from version.py")
    for path, pattern in NAMED_IN.items():
        named = set(re.findall(pattern, read(path), re.MULTILINE))
        if named != set(version):
            raise NotReadyError(f"{path} names {sorted(named) or 'no version'}, not {version[0]}")
    return version[0]


def check_changelog(version: str) -> str:
    """Return the date of a version that the changelog has closed."""
    text = read("CHANGELOG.md")
    found = re.search(
        rf"^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$(.*?)(?=^## \[|\Z)",
        text,
        re.MULTILINE | re.DOTALL,
    )
    if found is None:
        raise NotReadyError(f"CHANGELOG.md has no section '## [{version}] - YYYY-MM-DD'")
    if not re.search(r"^- \S", found[2], re.MULTILINE):
        raise NotReadyError(f"CHANGELOG.md says nothing about {version}")
    if dt.date.fromisoformat(found[1]) > dt.datetime.now(dt.UTC).date():
        raise NotReadyError(f"CHANGELOG.md dates {version} {found[1]}, which is to come")
    if f"date-released: {found[1]}" not in read("CITATION.cff"):
        raise NotReadyError(f"CITATION.cff does not say that it was released on {found[1]}")
    return found[1]


def check_golden(version: str) -> int:
    """Return how many files later versions have to open."""
    files = list((ROOT / "tests" / "fitted" / "released" / version).glob("*.file"))
    if not files:
        raise NotReadyError(f"there are no golden files of {version}: make golden")
    return len(files)


def check_tag(version: str) -> str:
    """Return the commit that is tagged, which is this one, with nothing beside it."""
    if changed := git("status", "--porcelain"):
        raise NotReadyError(f"the tree has changes that are not committed:\n{changed}")
    head, tagged = git("rev-parse", "HEAD"), git("rev-parse", f"refs/tags/v{version}^{{commit}}")
    if tagged != head:
        raise NotReadyError(f"this commit is not tagged: git tag --annotate v{version}")
    return head[:12]


def build(folder: Path) -> dict[str, str]:
    """Build source distribution and wheel, and return their digests by name."""
    # What a file says of its time is that of the commit, not of the build.
    env = {**os.environ, "SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct") or "0"}
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder, ROOT],
        env=env, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def check_builds(place: Path) -> dict[str, str]:
    """Return the digests of two builds, which are the same."""
    first, second = build(place / "first"), build(place / "second")
    if first != second:
        raise NotReadyError(f"two builds differ: {first} and {second}")
    files = [str(path) for path in (place / "first").iterdir()]
    subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *files],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return first


def check_install(wheel: Path, version: str, python: str, place: Path) -> str:
    """Install the wheel into an empty environment, run the demo there, and return its last line."""
    subprocess.run([python, "-m", "venv", place / "new"], check=True)
    scripts = place / "new" / ("Scripts" if os.name == "nt" else "bin")
    install = [scripts / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run(
        [*install, "--constraint", ROOT / "constraints.txt", f"{wheel}[plots]"], check=True
    )
    told = subprocess.run(
        [scripts / "dmrank", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if told != f"dmrank {version}":
        raise NotReadyError(f"what was installed says {told!r}")
    done = subprocess.run(
        [scripts / "dmrank", "demo", "--out", place / "demo"],
        cwd=place, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise NotReadyError(f"the demo failed: {done.stderr[-2_000:]}")
    return f"{len(list((place / 'demo').iterdir()))} files"


def main() -> None:
    """Check one thing after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before-tag", action="store_true", help="the tag is set afterwards")
    parser.add_argument("--python", default=sys.executable, help="what the wheel is installed for")
    given = parser.parse_args()
    try:
        version = check_version()
        print(f"version     {version}, said in one place")
        print(f"changelog   closed on {check_changelog(version)}")
        print(f"golden      {check_golden(version)} files for later versions to open")
        print(f"tag         {'to be set' if given.before_tag else check_tag(version)}")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            for name, digest in check_builds(place).items():
                print(f"build       {name}, twice the same bytes: sha256 {digest}")
            (wheel,) = (place / "first").glob("*.whl")
            written = check_install(wheel, version, given.python, place)
            print(f"demo        of the installed wheel wrote {written}")
            shutil.rmtree(ROOT / "dist", ignore_errors=True)
            shutil.copytree(place / "first", ROOT / "dist")
    except NotReadyError as error:
        sys.exit(f"not ready: {error}")
    print("ready: upload dist/")


if __name__ == "__main__":
    main()
