"""Installs backstaff in every usual way, each below an empty home, and makes a first call.

    python -m dev.ways_in [WAY...]

EMACS names the Emacs. A table is printed, and kept in .cache/ways-in for the table of all versions
that `dev/ways-in` prints. A way fails if it asks anything, needs a step by hand, leaves a file
uncompiled, or if the doctor finds anything wrong.

Emacs sees a home, a path with Debian's programs, and no network if that can be taken away.
straight, elpaca and package-build run themselves if .cache/peers has a clone named straight.el,
elpaca or package-build. Without it, this program makes their files from the recipe.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dev.package import PROJECT, RECIPE, contents, make, recipe

EMACS = os.environ.get("EMACS") or "emacs"
KEPT = PROJECT / ".cache/ways-in"
PEERS = PROJECT / ".cache/peers"
LEFT_BEHIND = {".git", ".venv", ".cache", "dist", "__pycache__", "bench"}
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
ACTIVATE = "(package-initialize)"


class Failure(Exception):
    """A way failed; the text says why."""


class Blocked(Exception):
    """A way cannot be tried here; the text says why."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folders for one way: an empty home, a project, and a repository to install from."""

    folder: Path

    @property
    def home(self) -> Path:
        """The user's home, empty at first."""
        return self.folder / "home"

    @property
    def project(self) -> Path:
        """The project of the first call."""
        return self.folder / "project"

    @property
    def repository(self) -> Path:
        """A git repository with this checkout."""
        return self.folder / "repository"

    @property
    def build(self) -> Path:
        """The folder from which straight and elpaca make Emacs load."""
        return self.home / ".emacs.d/build/backstaff"


@dataclass(frozen=True, slots=True)
class Way:
    """A way in. `install` does it and returns the lines for init.el.

    `types` is the text that the user types. `since` is the first Emacs that has the command. `peer`
    is the clone of the package manager. If it is there, the manual must also be found.
    """

    name: str
    types: str
    install: Callable[[Place], str]
    since: int = 28
    compiled: bool = True
    manual: bool = True
    peer: str = ""


# ---------------------------------------------------------------------------- running


@cache
def without_network() -> tuple[str, ...]:
    """Return a command that runs another without the network, or nothing if there is none."""
    command = ("unshare", "--net")
    if os.geteuid() or not shutil.which("unshare"):
        return ()
    return (
        ()
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode
        else command
    )


def run(place: Place, *command: str, offline: bool = True) -> str:
    """Run `command` as a user with the home of `place`, and return its output."""
    environment = {
        "HOME": str(place.home),
        "PATH": f"{place.home}/.local/bin:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
    }
    if not offline:
        environment |= {
            k: v for k, v in os.environ.items() if re.search("(?i)_proxy$|^PIP_|^UV_", k)
        }
        environment["UV_SYSTEM_CERTS"] = "1"  # a proxy or a mirror may have one of its own
    done = subprocess.run(
        [*(without_network() if offline else ()), *command],
        env=environment,
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise Failure(f"{' '.join(command)}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def command(*forms: str) -> list[str]:
    """Return the command that evaluates `forms` in an Emacs."""
    return [EMACS, "-Q", "--batch", *(word for form in forms for word in ("--eval", form))]


def emacs(place: Place, *forms: str) -> str:
    """Evaluate `forms` in a new Emacs, below the home of `place`."""
    told = run(place, *command(*forms))
    # package-vc continues after a file that does not compile.
    if wrong := re.findall(
        r"(?m)^.*(?:[1-9]\d* (?:files? )?failed|Cannot open load file).*$", told
    ):
        raise Failure("\n".join(wrong))
    return told


@cache
def version() -> str:
    told = subprocess.run([EMACS, "--version"], capture_output=True, text=True, check=True).stdout
    return told.split()[2]


def plant(place: Place) -> None:
    """Make the home, the project, and a repository of the files in this checkout."""
    place.home.mkdir()
    place.project.mkdir()
    (place.project / "hello.txt").write_text("Hello\n")
    shutil.copytree(
        PROJECT,
        place.repository,
        ignore=lambda _, names: [n for n in names if n in LEFT_BEHIND or n.endswith(".elc")],
    )
    git = [
        "git",
        "-C",
        str(place.repository),
        "-c",
        "user.name=me",
        "-c",
        "user.email=me@localhost",
    ]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "All of it"]):
        subprocess.run([*git, *words], check=True)


# ---------------------------------------------------------------------------- ways


def string(text: object) -> str:
    """Return `text` as a string in Lisp."""
    return json.dumps(str(text), ensure_ascii=False)


def url(place: Place) -> str:
    return string(place.repository.as_uri())


def package_file(place: Place) -> str:
    package = make(place.folder)
    emacs(place, ACTIVATE, f"(package-install-file {string(package)})")
    return ACTIVATE


def package_vc(place: Place) -> str:
    spec = f'(backstaff :url {url(place)} :lisp-dir "elisp")'
    emacs(place, ACTIVATE, f"(package-vc-install '{spec})")
    return ACTIVATE


def use_package(place: Place) -> str:
    form = (
        f'(use-package backstaff :vc (:url {url(place)} :lisp-dir "elisp" :rev :newest)'
        ' :bind-keymap ("C-c b" . backstaff-map))'
    )
    emacs(place, ACTIVATE, form)
    return f"{ACTIVATE} {form}"


def melpa(place: Place) -> str:
    builder = PEERS / "package-build"
    if not builder.exists():
        # The package is made of the files that the recipe names.
        return package_file(place)
    text = RECIPE.read_text().replace(":fetcher github", ":fetcher git")
    recipes = place.folder / "recipes"
    recipes.mkdir()
    (recipes / "backstaff").write_text(
        text.replace(':repo "backstaff/backstaff"', f":url {url(place)}")
    )
    archive = place.folder / "packages"
    archive.mkdir()
    emacs(
        place,
        f"(add-to-list 'load-path {string(builder)})",
        "(require 'package-build)",
        f"(setq package-build-recipes-dir {string(f'{recipes}/')}"
        f" package-build-archive-dir {string(f'{archive}/')}"
        f" package-build-working-dir {string(place.folder / 'working/')})",
        '(package-build-archive "backstaff")',
    )
    (package,) = archive.glob("backstaff-*.tar")
    emacs(place, ACTIVATE, f"(package-install-file {string(package)})")
    return ACTIVATE


def built(place: Place) -> str:
    """Compile and prepare the folder of links, like straight and elpaca."""
    build = string(place.build)
    emacs(
        place,
        f"(add-to-list 'load-path {build})",
        f"(byte-recompile-directory {build} 0)",
        f"(if (fboundp 'loaddefs-generate)"
        f'    (loaddefs-generate {build} (expand-file-name "backstaff-autoloads.el" {build}))'
        f"  (require 'autoload)"
        f"  (make-directory-autoloads {build}"
        f'                            (expand-file-name "backstaff-autoloads.el" {build})))',
    )
    return f'(progn (add-to-list \'load-path {build}) (load "backstaff-autoloads"))'


def order(place: Place) -> str:
    """Return the forms that the manual has for straight and elpaca, with our own repository."""
    patterns = " ".join(string(pattern) for pattern in recipe() if pattern != "LICENSE")
    return f"(backstaff :host nil :repo {url(place)} :files ({patterns}))"


def in_init_file(place: Place, *forms: str) -> str:
    """Write `forms` into the user's init files, and run an Emacs with them."""
    folder = place.home / ".emacs.d"
    folder.mkdir(exist_ok=True)
    (folder / "init.el").write_text("\n".join(forms))
    # Start Emacs normally. elpaca works after the init file, and that tells it when.
    start = (
        f"(progn (let ((after-init-time nil)) (load {string(folder / 'init.el')} nil t))"
        " (run-hooks 'after-init-hook)"
        " (while (and (featurep 'elpaca) (not (symbol-value 'elpaca-after-init-time)))"
        "   (accept-process-output nil 0.01)))"
    )
    # elpaca continues if a file of its own does not compile; ours are checked later.
    run(place, *command(start))
    return start


def straight(place: Place) -> str:
    """Let straight install, or link each file like straight."""
    if (PEERS / "straight.el").exists():
        own = place.home / ".emacs.d/straight/repos/straight.el"
        shutil.copytree(PEERS / "straight.el", own)
        return in_init_file(
            place,
            # It would look in MELPA's repository for facts that our recipe lacks.
            "(setq straight-allow-recipe-inheritance nil)",
            f"(load {string(own / 'bootstrap.el')} nil t)",
            f"(straight-use-package '{order(place)})",
        )
    for name, source in contents():
        link = place.build / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(place.repository / source.relative_to(PROJECT))
    return built(place)


def elpaca(place: Place) -> str:
    """Let elpaca install, or link the files and folders of the recipe like elpaca."""
    if (PEERS / "elpaca").exists():
        installer = (PEERS / "elpaca/doc/installer.el").read_text()
        own = string((PEERS / "elpaca").as_uri())
        return in_init_file(
            place,
            installer.replace('"https://github.com/progfolio/elpaca.git"', own),
            # It would ask the menus of MELPA and others for facts that our recipe lacks.
            "(setq elpaca-menu-functions nil)",
            f"(elpaca {order(place)})",
        )
    place.build.mkdir(parents=True)
    for name, source in contents():
        top = Path(name).parts[0]
        if not (place.build / top).is_symlink():
            within = source.parents[len(Path(name).parts) - 2] if "/" in name else source
            (place.build / top).symlink_to(place.repository / within.relative_to(PROJECT))
    return built(place)


def clone(place: Place) -> str:
    lisp = string(place.repository / "elisp")
    return (
        f"(progn (add-to-list 'load-path {lisp}) (require 'backstaff)"
        f"  (add-to-list 'Info-default-directory-list {lisp}))"
    )


def lisp_alone(place: Place) -> str:
    """Install only the Lisp; the server is a program on the path."""
    folder = place.home / "lisp"
    shutil.copytree(place.repository / "elisp", folder)
    return f"(progn (add-to-list 'load-path {string(folder)}) (require 'backstaff))"


def tool(place: Place, name: str) -> str:
    """Install `name` from the index of packages, outside the home, and return its program."""
    folder = place.folder / "tools"
    run(place, "/usr/bin/python3", "-m", "venv", str(folder), offline=False)
    run(place, f"{folder}/bin/pip", "install", "-q", name, offline=False)
    return f"{folder}/bin/{name}"


def pip(place: Place) -> str:
    where = place.home / ".local"
    run(place, "/usr/bin/python3", "-m", "venv", str(where), offline=False)
    run(place, f"{where}/bin/pip", "install", "-q", str(place.repository), offline=False)
    return lisp_alone(place)


def pipx(place: Place) -> str:
    run(place, tool(place, "pipx"), "install", str(place.repository), offline=False)
    return lisp_alone(place)


def uv(place: Place) -> str:
    command = [tool(place, "uv"), "tool", "install", "--python", "/usr/bin/python3"]
    run(place, *command, str(place.repository), offline=False)
    return lisp_alone(place)


WAYS = (
    Way("package-install-file", "M-x package-install-file RET dist/backstaff-….tar", package_file),
    Way("melpa", "M-x package-install RET backstaff", melpa),
    Way("package-vc-install", "a form", package_vc, since=29),
    Way("use-package :vc", "a form in init.el", use_package, since=30),
    Way("straight", "a form in init.el", straight, peer="straight.el"),
    Way("elpaca", "a form in init.el", elpaca, peer="elpaca"),
    Way("load-path", "git clone, 3 lines in init.el", clone, compiled=False),
    Way("pip", "pip install; Lisp alone", pip, compiled=False, manual=False),
    Way("pipx", "pipx install; Lisp alone", pipx, compiled=False, manual=False),
    Way("uv", "uv tool install; Lisp alone", uv, compiled=False, manual=False),
)


# ---------------------------------------------------------------------------- report


def first_answer(way: Way) -> tuple[str, str]:
    """Install in one `way` and start Emacs; return the seconds to the answer, and the program."""
    if int(version().partition(".")[0]) < way.since:
        raise Blocked(f"since {way.since}")
    with tempfile.TemporaryDirectory(prefix="backstaff-way-") as folder:
        place = Place(Path(folder))
        plant(place)
        lines = way.install(place)
        flags = " ".join("t" if flag else "nil" for flag in (way.compiled, way.manual))
        session = f"(ways-in-session {flags})"
        told = emacs(place, lines, f"(load {string(PROJECT / 'dev/ways_in.el')} nil t)", session)
        seconds, program = re.findall(r"(?m)^(?:answer|program) (.+)$", told)
        if folder not in program:
            raise Failure(f"it runs {program}, which is not below {folder}")
        return seconds, "sources" if "backstaff.sh" in program else "program"


def table(kept: list[Path]) -> None:
    """Print one table of the kept results, a file for each version of Emacs."""
    columns = {path.stem: json.loads(path.read_text()) for path in kept}
    print(
        f"\n{'seconds to the first answer':28} " + " ".join(f"{v:>9}" for v in columns) + "  typed"
    )
    for way in WAYS:
        cells = " ".join(f"{column.get(way.name, '-'):>9}" for column in columns.values())
        print(f"{way.name:28} {cells}  {way.types}")


def main(names: list[str]) -> int:
    if names[:1] == ["--table"]:
        table([Path(name) for name in names[1:]])
        return 0
    if unknown := set(names) - {way.name for way in WAYS}:
        sys.exit(
            f"ways_in: unknown: {', '.join(unknown)}; known: {', '.join(w.name for w in WAYS)}"
        )
    if not without_network():
        print("ways_in: WITHOUT taking the network away, which only root can")
    results, failures = {}, 0
    for way in WAYS:
        if names and way.name not in names:
            continue
        try:
            results[way.name], how = first_answer(way)
        except Blocked as why:
            results[way.name], how = "-", str(why)
        except Failure as why:
            results[way.name], how = "FAILED", str(why)
            failures += 1
        print(f"Emacs {version()}  {way.name:22} {results[way.name]:>6}  {how}", flush=True)
    if not names:
        KEPT.mkdir(parents=True, exist_ok=True)
        (KEPT / f"{version()}.json").write_text(json.dumps(results))
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
