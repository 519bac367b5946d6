"""Makes dist/backstaff-VERSION.tar, a package for Emacs: `M-x package-install-file`.

The recipe for MELPA lists the files, and MELPA's rules place them. So the recipe is the only list
of a package's files.
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).parents[1]
RECIPE = PROJECT / "dev/recipes/backstaff"


def header(name: str) -> str:
    """Return the value of the header `name`, such as "Version", or the "summary" of line one."""
    text = (PROJECT / "elisp/backstaff.el").read_text()
    pattern = (
        r"^;;; backstaff\.el --- (.+?)  -\*-" if name == "summary" else rf"(?m)^;; {name}: (.+)$"
    )
    found = re.search(pattern, text)
    if found is None:
        sys.exit(f"package: elisp/backstaff.el has no {name}")
    return found[1]


def recipe() -> list[str]:
    """Return the globs of the recipe."""
    patterns = re.search(r":files \(([^)]*)\)", RECIPE.read_text())
    if patterns is None:
        sys.exit(f"package: {RECIPE} names no files")
    return re.findall(r'"([^"]+)"', patterns[1])


def contents() -> Iterator[tuple[str, Path]]:
    """Yield (place in the package, file) for all files that the recipe names."""
    for pattern in recipe():
        for path in sorted(PROJECT.glob(pattern)):
            if path.is_file():
                yield path.name, path
            for below in sorted(path.rglob("*")):
                if below.is_file() and "__pycache__" not in below.parts:
                    yield below.relative_to(path.parent).as_posix(), below


def definition() -> str:
    """Return the text of backstaff-pkg.el."""
    keywords = " ".join(f'"{word}"' for word in header("Keywords").split(", "))
    return (
        f'(define-package "backstaff" "{header("Version")}"\n'
        f'  "{header("summary")}"\n'
        f"  '{header('Package-Requires')}\n"
        f'  :url "{header("URL")}"\n'
        f"  :keywords '({keywords}))\n"
    )


def info() -> dict[str, bytes]:
    """Return the manual as Info, and the file `dir` that names it; without makeinfo, nothing."""
    if shutil.which("makeinfo") is None:
        print("package: WITHOUT the manual as Info, because makeinfo is missing (Debian: texinfo)")
        return {}
    emacs = os.environ.get("EMACS") or "emacs"
    with tempfile.TemporaryDirectory() as folder:
        loads = ("-l", "dev/batch.el", "-L", "elisp", "-l", "dev/manual.el")
        subprocess.run(
            [emacs, "-Q", "--batch", *loads, "-f", "manual-info-batch", folder],
            cwd=PROJECT,
            check=True,
        )
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def make(folder: Path) -> Path:
    """Make the package in `folder` and return it. The same files make the same bytes."""
    name = f"backstaff-{header('Version')}"
    files = {place: path.read_bytes() for place, path in contents()}
    files["backstaff-pkg.el"] = definition().encode()
    files |= info()
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{name}.tar"
    with tarfile.open(made, "w", format=tarfile.USTAR_FORMAT) as archive:
        for place, content in sorted(files.items()):
            member = tarfile.TarInfo(f"{name}/{place}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made


if __name__ == "__main__":
    package = make(PROJECT / "dist")
    print(f"{package.relative_to(PROJECT)}: {package.stat().st_size} bytes")
