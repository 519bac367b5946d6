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
import tempfile
import zipfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
PINS = PROJECT / "dev/libraries.txt"
ARCHIVE = PROJECT / "py_backend/libraries.zip"
THE_SAME_ALWAYS = (1980, 1, 1, 0, 0, 0)


def published() -> dict[str, bytes]:
    """Download the listed libraries, and return the archive's files by their names in it.

    Raises `subprocess.CalledProcessError` if pip cannot download it.
    """
    # epc is published as sources only, without its licence, which is the same as ours.
    files = {
        "libraries.txt": PINS.read_bytes(),
        "licenses/epc/LICENSE": (PROJECT / "LICENSE").read_bytes(),
    }
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--no-binary", "epc", "--require-hashes", "-r", str(PINS), "--target", folder]
        options += ["--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
        subprocess.run([*command, *options], check=True)  # noqa: S603  # pip, with our own list
        for path in sorted(Path(folder).rglob("*")):
            name = path.relative_to(folder)
            # Compiled parts, such as that of PyYAML, are for one platform.
            if path.suffix == ".py" and "tests" not in name.parts:
                files[name.as_posix()] = path.read_bytes()
            elif path.name.startswith("LICENSE"):
                files[f"licenses/{name.parts[0].partition('-')[0].lower()}/{path.name}"] = (
                    path.read_bytes()
                )
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
