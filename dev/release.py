"""Makes and checks the parts of a release in dist/: wheel, sources, package for Emacs.

Nothing is signed, sent or tagged. `build` and `twine` get an environment of their own below .cache,
because nothing else needs them.
"""

import re
import subprocess
import sys
import venv

from dev.package import PROJECT, header, make

DIST = PROJECT / "dist"
TOOLS = PROJECT / ".cache/release"


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
