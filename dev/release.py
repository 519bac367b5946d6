"""Makes and checks the parts of a release in dist/: wheel, sources, package for Emacs.

Nothing is signed, sent or tagged. `build` and `twine` get an environment of their own below .cache,
because nothing else needs them. melpazoid, MELPA's check of packages, runs if
.cache/peers/melpazoid is a clone of it and Emacs has the packages package-lint and pkg-info.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from dev.package import PROJECT, header, make

DIST = PROJECT / "dist"
TOOLS = PROJECT / ".cache/release"
MELPAZOID = PROJECT / ".cache/peers/melpazoid/melpazoid/melpazoid.el"
SITE_PACKAGES = Path("/usr/share/emacs/site-lisp/elpa")
ACCEPTED = (
    "uninstallable in all released Emacs versions",  # package-lint 0.16 does not know Emacs 28
    "should rarely add hooks",  # on our own hooks, so that a lower floor names no higher one
    "backstaff-remote.el:[0-9:]+ It's safer to sharp-quote",  # the advised function is a variable
    "`error` takes an f-string",  # it is a clause of `condition-case`
)
"""Findings of melpazoid that we accept, as regexps."""


def run(*command: str) -> str:
    """Run `command` and return its output. If it fails, print the output and exit."""
    done = subprocess.run(
        command,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"release: {' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return done.stdout


def melpazoid() -> str:
    """Return the lines to print about melpazoid's checks; exit if they find something new."""
    packages = [
        path
        for name in ("package-lint", "pkg-info", "epl")
        for path in SITE_PACKAGES.glob(f"{name}-*")
    ]
    if not (MELPAZOID.exists() and len(packages) >= 3):  # noqa: PLR2004  # one for each name
        return "WITHOUT melpazoid: there is no clone in .cache/peers/melpazoid, or no pkg-info"
    with tempfile.TemporaryDirectory() as folder:
        home, package = Path(folder, "home"), Path(folder, "package")
        (home / ".emacs.d/elpa").mkdir(parents=True)
        for path in packages:
            (home / ".emacs.d/elpa" / path.name).symlink_to(path)
        package.mkdir()
        for file in [MELPAZOID, *(PROJECT / "elisp").glob("*.el")]:
            shutil.copy(file, package)
        done = subprocess.run(
            [os.environ.get("EMACS") or "emacs", "--quick", "--batch", "--load=melpazoid.el"],
            cwd=package,
            env=os.environ | {"HOME": str(home), "PACKAGE_MAIN": "backstaff.el"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.findall(r"(?m)^(?:- )?(?:[-a-z]+\.el:)?\d+:.*$", done.stdout)
    new = [line for line in found if not any(re.search(known, line) for known in ACCEPTED)]
    if new or done.returncode:
        sys.exit("\n".join(["release: melpazoid found:", *new, done.stderr[-2000:]]))
    return f"melpazoid found only {len(found)} things that we accept"


def main() -> None:
    """Make all three, and print the steps that are left before a release."""
    version = header("Version")
    python = TOOLS / "bin/python"
    if not (TOOLS / "bin/twine").exists():
        venv.create(TOOLS, clear=True, with_pip=True)
        run(str(python), "-m", "pip", "install", "-q", "build>=1.2,<2", "twine>=6,<8")
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob("backstaff-*"):
        old.unlink()
    run(str(python), "-m", "build", "--outdir", str(DIST))
    made = sorted(DIST.glob("backstaff-*"))
    if not made or any(f"backstaff-{version}" not in path.name for path in made):
        sys.exit(f"release: Emacs's package is {version}, but build made {made}")
    print(run(str(python), "-m", "twine", "check", "--strict", *map(str, made)).strip())
    made.append(make(DIST))
    print("release: checked by the byte compiler, package-lint, checkdoc and twine")
    print(f"release: {melpazoid()}")
    for path in made:
        print(f"{path.relative_to(PROJECT)}: {path.stat().st_size} bytes")
    changelog = (PROJECT / "CHANGELOG.md").read_text()
    if not re.search(rf"(?m)^## \[{re.escape(version)}\]", changelog):
        print(f"release: CHANGELOG.md has no heading [{version}] yet")
    if not re.search(r"(?m)^;; Assisted-by: .+:.+$", (PROJECT / "elisp/backstaff.el").read_text()):
        print("release: MELPA asks for a line `;; Assisted-by: AGENT:MODEL` where an AI helped")
    tags = run("git", "tag", "--points-at", "HEAD").split()
    if tags and f"v{version}" not in tags:
        sys.exit(f"release: this commit has the tag {tags[0]}, not v{version}")
    if not tags:
        print(f"release: this commit has no tag yet; v{version} is the one")


if __name__ == "__main__":
    main()
