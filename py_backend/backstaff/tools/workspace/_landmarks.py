"""The roles of files and directories by their names: language, document, build, test, program."""

import re
from collections.abc import Iterator, Mapping, Sequence

from backstaff.errors import PathError
from backstaff.fs.file import read
from backstaff.fs.root import Place

LANGUAGES = (
    "Python: py pyi; C: c h; C++: cc cpp cxx hpp hh; C#: cs; Java: java; Kotlin: kt kts; Go: go;"
    "Scala: scala; Groovy: groovy; Gradle: gradle; Rust: rs; JavaScript: js mjs cjs jsx; Vue: vue;"
    "TypeScript: ts tsx mts cts; Svelte: svelte; Ruby: rb; PHP: php; Perl: pl pm; Swift: swift;"
    "Emacs Lisp: el; Lisp: lisp asd; Clojure: clj cljs cljc; Scheme: scm; Elixir: ex exs; Lua: lua;"
    "Erlang: erl hrl; Haskell: hs; OCaml: ml mli; Julia: jl; Dart: dart; Zig: zig; Nix: nix;"
    "Shell: sh bash zsh fish; PowerShell: ps1; Tcl: tcl; Terraform: tf; HCL: hcl; SQL: sql;"
    "HTML: html htm; CSS: css scss sass less; XML: xml; JSON: json jsonc; YAML: yml yaml;"
    "TOML: toml; Markdown: md mdx markdown; reST: rst; Org: org; AsciiDoc: adoc; TeX: tex"
)
_LANGUAGE = {
    f".{extension}": name.strip()
    for name, _, extensions in (entry.partition(": ") for entry in LANGUAGES.split(";"))
    for extension in extensions.split()
}
_EXTENSION = re.compile(r"(?<=[^/])\.[a-zA-Z]\w{0,15}\Z", re.ASCII)

_DOCUMENT = (
    "agents|claude|contributing|architecture|design|hacking|development|overview|building"
    "|getting_started"
)
_READ_FIRST = re.compile(
    rf"(readme|{_DOCUMENT}|(\.github|docs?)/({_DOCUMENT})|.*/(\.github|docs?)/contributing)"
    r"(\.(md|rst|txt|org|adoc))?",
    re.IGNORECASE,
)
"""Documents at the top and in docs/, and CONTRIBUTING in any folder of docs."""
_BUILD = re.compile(
    r"(.*/)?((pyproject|cargo)\.toml|setup\.(py|cfg)|tox\.ini|noxfile\.py|(package|deno|composer)\.json"
    r"|go\.(mod|work)|(gnu)?makefile|justfile|cmakelists\.txt|meson\.build|configure\.ac|pom\.xml"
    r"|gradlew|(build|settings)\.gradle|build\.(gradle\.kts|sbt|zig)|(module|workspace)\.bazel"
    r"|gemfile|rakefile|mix\.exs|rebar\.config|dune-project|(stack|pubspec)\.yaml|project\.clj"
    r"|eask|cask|eldev|package\.swift|dockerfile|flake\.nix"
    r"|[^/]*\.(asd|cabal|sln|csproj|gemspec|rockspec|nimble))",
    re.IGNORECASE,
)
TESTS = frozenset(("test", "tests", "spec", "specs", "__tests__", "e2e", "t"))
MAX_MANIFEST = 1 << 18
TEST_COMMANDS = (
    *(("makefile", rb"^test *:", "make test"), ("makefile", rb"^check *:", "make check")),
    *(("justfile", rb"^test\b", "just test"), ("package.json", rb'"test" *:', "npm test")),
    *(("pyproject.toml", rb"pytest", "pytest"), ("setup.cfg", rb"pytest", "pytest")),
    *(("tox.ini", rb"", "tox"), ("noxfile.py", rb"", "nox"), ("mix.exs", rb"", "mix test")),
    *(("cargo.toml", rb"", "cargo test"), ("go.mod", rb"", "go test ./...")),
    *(("eask", rb"", "eask test"), ("eldev", rb"", "eldev test")),
    *(("gradlew", rb"", "./gradlew test"), ("pom.xml", rb"", "mvn test")),
    *(("rakefile", rb"", "rake test"), ("deno.json", rb"", "deno test")),
    *(("dune-project", rb"", "dune test"), ("stack.yaml", rb"", "stack test")),
    *(("build.zig", rb"", "zig build test"), ("package.swift", rb"", "swift test")),
)
"""A build file at the top, an expression that it must match, and then the command of tests."""
_MAIN = re.compile(r"(^|/)(main\.\w+|__main__\.py)$", re.IGNORECASE)
_ENTRY = re.compile(
    r"(.*/)?(main\.(py|rs|go|c|cc|cpp|java|kt|ts|js|swift|zig|dart|ml|hs|el)|__main__\.py|manage\.py"
    r"|app\.(py|ts|tsx|js)|application\.ex|program\.cs|early-init\.el|init\.el)|bin/[^./]+"
    r"|(src/)?(server|lib)\.(py|ts|js|c|go|rs)|(src/)?([^/]+/)?cli\.(py|ts|js)"
    r"|((.*/)?src/)?index\.(ts|js|tsx|mjs)",
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


def language(path: str) -> str:
    """Return the language of the file `path`: `Go` for `x.go`, else its extension, or ""."""
    found = _EXTENSION.search(path)
    return _LANGUAGE.get(found[0].lower(), found[0]) if found else ""


def is_tests(directory: str) -> bool:
    """Whether the path `directory` holds tests, and not those of an example."""
    above, _, name = directory.lower().rpartition("/")
    return name in TESTS and not _ASIDE.search(f"{above}/")


def build_files(paths: Sequence[str]) -> list[str]:
    """Build files among `paths`, at the top or in a directory there."""
    found = (path for path in paths if path.count("/") <= 1 and _BUILD.fullmatch(path))
    return [path for path in found if not _ASIDE.search(path)]


def changes_along(path: str) -> bool:
    """Whether the file `path` changes along with others, as a changelog, and says little itself."""
    return bool(_BUILD.fullmatch(path) or _ALONG.search(path))


def read_first(paths: Sequence[str]) -> list[str]:
    """Documents among `paths` to read first, those at the top before others."""
    found = filter(_READ_FIRST.fullmatch, paths)
    return sorted(found, key=lambda path: path.count("/"))


def entries(paths: Sequence[str], heat: Mapping[str, float]) -> list[str]:
    """Files among `paths` where a program starts: `main` first, then the less deep ones."""
    found = [path for path in paths if _ENTRY.fullmatch(path) and not _ASIDE.search(path)]
    return sorted(found, key=lambda p: (not _MAIN.search(p), p.count("/"), -heat.get(p, 0.0), p))


def test_commands(place: Place, build: Sequence[str]) -> Iterator[str]:
    """Yield the commands of tests that the `build` files have: `make test`, `pytest`."""
    for path in build:
        for name, expression, command in TEST_COMMANDS:
            if path.lower() != name:
                continue
            try:
                content = read(path, place.listing(), MAX_MANIFEST).head if expression else b""
            except PathError:
                continue
            if re.search(expression, content, re.MULTILINE):
                yield command
