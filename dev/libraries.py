"""Makes py_backend/libraries.zip: the libraries that the server imports, in pure Python.

With it the server runs on any Python 3.11 or newer, without pip, network or environment. The
archive is committed, because package-vc, straight and MELPA copy the files of the repository and
run no program of it. It holds none of our code, so it changes only with `libraries.txt` beside this
file.

`python dev/libraries.py` downloads the libraries that this file names, and writes the archive. A
test compares it with the installed libraries, or with the published ones if those differ.
"""

import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

PROJECT = Path(__file__).parents[1]
PINS = PROJECT / "dev/libraries.txt"
ARCHIVE = PROJECT / "py_backend/libraries.zip"
# The archive is the same for everyone: the compiled part of PyYAML is left out.
ONE_PLATFORM = ["--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
# epc is published as sources only.
SOURCES = ["--no-binary", "epc"]
THE_SAME_ALWAYS = (1980, 1, 1, 0, 0, 0)


def wanted(name: str) -> str | None:
    """Return the name that `name`, a file of a distribution, has in the archive, or None."""
    path = PurePosixPath(name)
    if path.parts[0].startswith(
        "epc-"
    ):  # a folder that holds everything else, in an archive of sources
        path = path.relative_to(path.parts[0])
        if path.name == "setup.py":
            return None
    if path.suffix == ".py":
        return None if "tests" in path.parts else path.as_posix()
    if path.name.startswith("LICENSE"):
        return f"licenses/{path.parts[0].partition('-')[0]}/{path.name}"
    return None


def members(distribution: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of every file in `distribution`, a wheel or an archive of sources."""
    if distribution.suffix == ".whl":
        with zipfile.ZipFile(distribution) as wheel:
            for name in wheel.namelist():
                yield name, wheel.read(name)
        return
    with tarfile.open(distribution) as sources:
        for member in sources:
            content = sources.extractfile(member) if member.isfile() else None
            if content:
                yield member.name, content.read()


def published() -> dict[str, bytes]:
    """Download the listed libraries, and return the archive's files by their names in it.

    Raises `subprocess.CalledProcessError` if pip cannot download it.
    """
    # epc has no file with its licence, which is the same as ours.
    files = {
        "libraries.txt": PINS.read_bytes(),
        "licenses/epc/LICENSE": (PROJECT / "LICENSE").read_bytes(),
    }
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += [*SOURCES, *ONE_PLATFORM, "--require-hashes", "-r", str(PINS), "-d", folder]
        subprocess.run(command, check=True)  # noqa: S603  # pip, with our own list
        for distribution in Path(folder).iterdir():
            for name, content in members(distribution):
                if place := wanted(name):
                    files[place] = content
    return files


def main() -> None:
    """Write the archive."""
    files = published()
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(
                zipfile.ZipInfo(name, THE_SAME_ALWAYS), files[name], zipfile.ZIP_DEFLATED, 9
            )
    print(f"{ARCHIVE.relative_to(PROJECT)}: {len(files)} files, {ARCHIVE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
