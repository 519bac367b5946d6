"""Kinds of files by their names alone: extensions, tests, generated files, documents, and others.

Paths are relative to the project, with slashes. Case does not matter, except in names of tests.
"""

import re
from collections.abc import Iterable

TEST_DIRECTORIES = frozenset(("test", "tests", "spec", "specs", "__tests__", "e2e", "t"))

_EXTENSION = re.compile(r"(?<=[^/])\.[a-zA-Z]\w{0,15}\Z", re.ASCII)
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py)\Z"
    r"|[^/](?:_tests?|[-.]tests?|[._]spec|Tests?|Spec|\.test-d)\.[^/.]+\Z"
)
_GENERATED = re.compile(
    r"(?i)(^|/)(dist|vendor|node_modules|third_party|__snapshots__)/|[._-]min\.(js|css)$|\.(lock"
    r"|snap|map)$|(^|/)(go\.sum|(package-lock|npm-shrinkwrap)\.json|pnpm-lock\.yaml"
    r"|gradle\.lockfile)$|(\.pb|_pb2(_grpc)?|[._-]generated)\.\w+$|(^|/)zz_generated[^/]*$"
)
_DOCUMENT = (
    "agents|claude|contributing|architecture|design|hacking|development|overview|building"
    "|getting_started"
)
_READ_FIRST = re.compile(
    rf"(?i)(readme|{_DOCUMENT}|(\.github|docs?)/({_DOCUMENT})|.*/(\.github|docs?)/contributing)"
    r"(\.(md|rst|txt|org|adoc))?"
)
_BUILD = re.compile(
    r"(?i)(.*/)?((pyproject|cargo)\.toml|setup\.(py|cfg)|tox\.ini|noxfile\.py|(package|deno"
    r"|composer)\.json|go\.(mod|work)|(gnu)?makefile|justfile|cmakelists\.txt|meson\.build"
    r"|configure\.ac|pom\.xml|gradlew|(build|settings)\.gradle|build\.(gradle\.kts|sbt|zig)|(module"
    r"|workspace)\.bazel|gemfile|rakefile|mix\.exs|rebar\.config|dune-project|(stack|pubspec)\.yaml"
    r"|project\.clj|eask|cask|eldev|package\.swift|dockerfile|flake\.nix|[^/]*\.(asd|cabal|sln"
    r"|csproj|gemspec|rockspec|nimble))"
)
_ENTRY = re.compile(
    r"(?i)(.*/)?(main\.(py|rs|go|c|cc|cpp|java|kt|ts|js|swift|zig|dart|ml|hs|el)|__main__\.py"
    r"|manage\.py|app\.(py|ts|tsx|js)|application\.ex|program\.cs|early-init\.el|init\.el)"
    r"|bin/[^./]+|(src/)?(server|lib)\.(py|ts|js|c|go|rs)|(src/)?([^/]+/)?cli\.(py|ts|js)"
    r"|((.*/)?src/)?index\.(ts|js|tsx|mjs)"
)
_MAIN = re.compile(r"(^|/)(main\.\w+|__main__\.py)$", re.IGNORECASE)
_ASIDE = re.compile(
    r"(?i)(^|/)(tests?|specs?|__tests__|testdata|testing|fixtures?|examples?|samples?|docs?"
    r"|docs_src|demo|playground|vendor|deps|third_party|node_modules|bench|benchmarks?"
    r"|([\w-]+-)?scripts?|\.[^/]+)/"
)
_ALONG = re.compile(
    r"(?i)^\.github/|(^|/)(\.[^/]*|(change(s|log)|news|history|release)[^/]*)$|(^|/)(\.?changes"
    r"|changelogs?|releases?|translations?|locales?)/"
)


def extension(path: str) -> str:
    """Return the extension of the file `path` in lower case: `.go` for `x.go`, or ""."""
    found = _EXTENSION.search(path)
    return found[0].lower() if found else ""


def is_test_file(path: str) -> bool:
    """Return True if `path` has the name of a file of tests, or is below a directory of tests."""
    return bool(_TEST_FILE.search(path))


def is_aside(path: str) -> bool:
    """Return True if `path` is that of a test, an example or code from another project."""
    return bool(_ASIDE.search(path)) or is_test_file(path)


def is_test_directory(path: str) -> bool:
    """Return True if the directory `path` holds tests, and not those of an example."""
    above, _, name = path.lower().rpartition("/")
    return name in TEST_DIRECTORIES and not _ASIDE.search(f"{above}/")


def is_generated(path: str) -> bool:
    """Return True if a program wrote the file `path`, or it is someone else's code."""
    return bool(_GENERATED.search(path))


def changes_along(path: str) -> bool:
    """Return True if the file `path` changes along with others, as a changelog does."""
    return bool(_BUILD.fullmatch(path) or _ALONG.search(path))


def build_files(paths: Iterable[str]) -> list[str]:
    """Return the build files among `paths`, at the top or in a directory there."""
    shallow = (path for path in paths if path.count("/") <= 1)
    return [path for path in shallow if _BUILD.fullmatch(path) and not _ASIDE.search(path)]


def read_first(paths: Iterable[str]) -> list[str]:
    """Return the documents to read first, those at the top before others."""
    return sorted(filter(_READ_FIRST.fullmatch, paths), key=lambda path: path.count("/"))


def entry_points(paths: Iterable[str]) -> list[str]:
    """Return the files where a program starts: `main` first, then the less deep ones."""
    likely = [path for path in paths if _ENTRY.fullmatch(path) and not _ASIDE.search(path)]
    return sorted(likely, key=lambda path: (not _MAIN.search(path), path.count("/")))
