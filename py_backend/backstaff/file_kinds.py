"""Kinds of files by their names alone: extensions, tests, generated files, documents, and others.

Paths are relative to the project, with slashes. Case does not matter, except in names of tests.
"""

import re
from collections.abc import Iterable

_EXTENSION = re.compile(r"(?<=[^/])\.[a-zA-Z]\w{0,15}\Z", re.ASCII)
_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py)\Z"
    r"|[^/](?:_tests?|[-.]tests?|[._]spec|Tests?|Spec)\.[^/.]+\Z"
)
_GENERATED = re.compile(
    r"(^|/)(dist|vendor|node_modules|third_party|__snapshots__)/|[._-]min\.(js|css)$|\.(lock|snap|map)$"
    r"|(^|/)(go\.sum|(package-lock|npm-shrinkwrap)\.json|pnpm-lock\.yaml|gradle\.lockfile)$"
    r"|(\.pb|_pb2(_grpc)?|[._-]generated)\.\w+$|(^|/)zz_generated[^/]*$",
    re.IGNORECASE,
)
_DOCUMENT = (
    "agents|claude|contributing|architecture|design|hacking|development|overview|building"
    "|getting_started"
)
_READ_FIRST = re.compile(
    rf"(readme|{_DOCUMENT}|(\.github|docs?)/({_DOCUMENT})|.*/(\.github|docs?)/contributing)"
    r"(\.(md|rst|txt|org|adoc))?",
    re.IGNORECASE,
)
_BUILD = re.compile(
    r"(.*/)?((pyproject|cargo)\.toml|setup\.(py|cfg)|tox\.ini|noxfile\.py|(package|deno|composer)\.json"
    r"|go\.(mod|work)|(gnu)?makefile|justfile|cmakelists\.txt|meson\.build|configure\.ac|pom\.xml"
    r"|gradlew|(build|settings)\.gradle|build\.(gradle\.kts|sbt|zig)|(module|workspace)\.bazel"
    r"|gemfile|rakefile|mix\.exs|rebar\.config|dune-project|(stack|pubspec)\.yaml|project\.clj"
    r"|eask|cask|eldev|package\.swift|dockerfile|flake\.nix"
    r"|[^/]*\.(asd|cabal|sln|csproj|gemspec|rockspec|nimble))",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(^|/)(tests?|specs?|__tests__|testdata|fixtures|examples?|samples?|docs?|playground|vendor|deps"
    r"|benchmarks?|([\w-]+-)?scripts?|\.[^/]+)/",
    re.IGNORECASE,
)
_ALONG = re.compile(
    r"^\.github/|(^|/)(\.[^/]*|(change(s|log)|news|history|release)[^/]*)$"
    r"|(^|/)(\.?changes|changelogs?|releases?|translations?|locales?)/",
    re.IGNORECASE,
)


def extension(path: str) -> str:
    """Return the extension of the file `path` in lower case: `.go` for `x.go`, or ""."""
    found = _EXTENSION.search(path)
    return found[0].lower() if found else ""


def is_test_file(path: str) -> bool:
    """Return True if `path` has the name of a file of tests, or is below a directory of tests."""
    return bool(_TEST_FILE.search(path))


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
