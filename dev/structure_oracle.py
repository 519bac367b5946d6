"""Compares the definitions of backstaff with those of tree-sitter's grammars.

    python -m pip install "tree-sitter-language-pack<1"
    python dev/structure_oracle.py record            the answers about the fixtures of the tests
    python dev/structure_oracle.py compare TREE...   a table of languages for the files of TREEs

In the table, `inside` is the share of lines for which both name the same innermost definition; the
lines are chosen at random inside definitions. Files that tree-sitter cannot parse are left out, and
so are files over the limits.
"""

import gzip
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "py_backend"))

from backstaff.budget import Budget  # noqa: E402
from backstaff.structure.languages import language_of  # noqa: E402
from backstaff.structure.outline import Definition, outline  # noqa: E402

FIXTURES = ROOT / "tests" / "py" / "structure" / "fixtures"
ANSWERS = FIXTURES / "answers.json"
GRAMMARS = {"shell": "bash", "lisp": "commonlisp"}
LINES_A_FILE = 40
MAX_FILES = 320
LONGEST_LINE = 2000
"""Skip a file with a longer line: a program made it."""

_JS = (
    "function_declaration generator_function_declaration class_declaration method_definition"
    " abstract_class_declaration interface_declaration enum_declaration type_alias_declaration"
    " internal_module module function_signature method_signature abstract_method_signature"
)
_C = "function_definition struct_specifier union_specifier enum_specifier type_definition"
NODES = {
    "python": "function_definition class_definition",
    "javascript": _JS,
    "typescript": _JS,
    "tsx": _JS,
    "go": "function_declaration method_declaration type_spec type_alias",
    "rust": "function_item function_signature_item struct_item enum_item union_item trait_item"
    " impl_item mod_item type_item macro_definition associated_type?",
    "java": "class_declaration interface_declaration enum_declaration record_declaration"
    " annotation_type_declaration method_declaration constructor_declaration"
    " compact_constructor_declaration annotation_type_element_declaration?",
    "kotlin": "class_declaration object_declaration function_declaration type_alias"
    " companion_object secondary_constructor",
    "csharp": "class_declaration struct_declaration interface_declaration enum_declaration"
    " record_declaration record_struct_declaration delegate_declaration method_declaration"
    " constructor_declaration destructor_declaration namespace_declaration"
    " local_function_statement operator_declaration? conversion_operator_declaration?"
    " file_scoped_namespace_declaration? property_declaration? indexer_declaration?",
    "c": _C,
    "cpp": f"{_C} class_specifier namespace_definition concept_definition alias_declaration?",
    "ruby": "method singleton_method class module singleton_class?",
    "shell": "function_definition",
    "php": "class_declaration interface_declaration trait_declaration enum_declaration"
    " function_definition method_declaration namespace_definition?",
    "lua": "function_declaration",
    "swift": "class_declaration protocol_declaration function_declaration typealias_declaration"
    " protocol_function_declaration init_declaration deinit_declaration subscript_declaration"
    " macro_declaration?",
    "elixir": "call",
    "perl": "subroutine_declaration_statement method_declaration_statement package_statement?",
    "elisp": "function_definition macro_definition special_form? list?",
    "lisp": "defun list_lit",
    "scheme": "list",
}
"""Nodes that define something; those with `?` count neither as missing nor as found."""
UNSEEN = "macro!"
"""A name for the text within a macro of Rust, where tree-sitter sees no definitions, but we do:
these count neither as found nor as extra."""
WRAPPERS = {"decorated_definition", "export_statement", "ambient_declaration"} | {
    "template_declaration"
}
_NAMELESS = {
    *("init_declaration", "deinit_declaration", "subscript_declaration"),
    *("companion_object", "secondary_constructor"),
}
"""Nodes of Swift and Kotlin that the language's own word names."""
FUNCTIONS = {"arrow_function", "function_expression", "function", "generator_function", "class"}
UNNAMED = {"assignment_pattern", "binary_expression"}
"""Nodes of JavaScript that give no name: defaults of parameters, and `a || function() {`."""
NAMES = {"identifier", "field_identifier", "type_identifier", "simple_identifier", "constant"} | {
    "qualified_identifier",
    "destructor_name",
    "operator_name",
    "operator_cast",
    "word",
    "symbol",
}


class Known(NamedTuple):
    """A definition by tree-sitter: `first` is the line of decorators, `head` that of the node."""

    name: str
    first: int
    head: int
    line: int
    last: int
    optional: bool


def known(language: str, text: str, path: str = "") -> list[Known] | None:
    """Return the definitions of `text` by tree-sitter; None if it cannot parse it."""
    from tree_sitter_language_pack import get_parser

    source = text.encode()
    grammar = "tsx" if path.endswith(("x", "js")) and language == "typescript" else language
    tree = get_parser(GRAMMARS.get(grammar, grammar)).parse(source)
    if language == "markdown":
        return list(_markdown(tree.root_node, text))
    if language == "rst":
        return list(_rst(tree.root_node, text))
    if tree.root_node.has_error:
        return None
    return sorted(_code(tree.root_node, language), key=lambda one: (one.first, -one.last))


def _code(root: Any, language: str) -> Iterator[Known]:  # noqa: ANN401  # tree-sitter is optional
    types = {name.rstrip("?"): name[-1] == "?" for name in NODES[language].split()}
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type == "token_tree":  # of a macro of Rust: tree-sitter sees no definitions there
            yield _known(node, node, None, optional=True)._replace(name=UNSEEN)
            continue
        nodes += node.children
        if language in ("elisp", "lisp", "scheme"):
            found = _lisp(node, language) if node.type in types else None
        elif language in ("javascript", "typescript") and node.type not in types:
            found = _assigned(node)
        elif language == "elixir":
            found = _elixir(node) if node.type in types else None
        elif language == "lua" and node.type in ("assignment_statement", "field"):
            found = _lua(node)
        else:
            found = _node(node, language, optional=types[node.type]) if node.type in types else None
        if found:
            yield found


def _known(node: Any, outer: Any, name: Any, *, optional: bool = False) -> Known:  # noqa: ANN401
    row, column = outer.end_point
    word = name.text.decode().strip() if name is not None else ""
    word = f"operator {word}" if "operator" in node.type else word
    line = (name if name is not None else node).start_point[0] + 1
    first, head = outer.start_point[0] + 1, node.start_point[0] + 1
    return Known(word, first, head, line, row + (column > 0), optional)


def _node(node: Any, language: str, *, optional: bool) -> Known | None:  # noqa: ANN401, C901, PLR0912
    if not node.is_named:
        return None
    kind, body, parent = node.type, node.child_by_field_name("body"), node.parent
    name = node.child_by_field_name("type" if kind == "impl_item" else "name")
    if kind in ("function_definition", "type_definition") and language in ("c", "cpp"):
        name = _declared(node.child_by_field_name("declarator"))
    elif name is None:
        name = next((child for child in node.children if child.type in NAMES), None)
    if kind in _NAMELESS and (name is None or name.type == "user_type"):
        word = kind.split("_")[kind.startswith("secondary")]
        return _known(node, node, None)._replace(name=word)
    if kind == "singleton_class":
        name = node.child_by_field_name("value")
    if "operator" in kind:
        name = node.child_by_field_name("operator") or next(
            one for one in node.children if one.type == "operator"
        )
    if kind.endswith("_specifier") and body is None:
        return None
    if kind == "module" and body is None and language != "ruby":
        return None
    if kind == "type_definition":
        of = node.child_by_field_name("type")
        optional = of.child_by_field_name("body") is None or bool(of.child_by_field_name("name"))
    if any(child.type.endswith("_method_clause") for child in node.children):
        optional = True  # `= default`
    outer = node
    while parent is not None and parent.type in WRAPPERS:
        outer, parent = parent, parent.parent
    if language == "go" and kind.startswith("type_"):
        outer = parent if parent.start_point[0] == node.start_point[0] else node
    if "namespace" in kind and body is None:
        optional = True
    optional = optional or name is None or name.type == "string"
    return _known(node, outer, name, optional=optional)


def _declared(node: Any) -> Any:  # noqa: ANN401
    """Return the name in a declarator of C."""
    while node is not None and node.type not in NAMES | {"primitive_type", "template_function"}:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (
                    child
                    for child in node.children
                    if child.type.endswith("declarator") or child.type in NAMES
                ),
                None,
            )
        node = inner
    return node


def _assigned(node: Any) -> Known | None:  # noqa: ANN401
    """Return a function of JavaScript that is assigned to a name: `const f = () => {`."""
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is None or value.type not in FUNCTIONS or node.type in UNNAMED:
        return None
    fields = ("key", "left", "name", "property")
    name = next(filter(None, map(node.child_by_field_name, fields)), None)
    if name is None or name.type in ("computed_property_name", "subscript_expression"):
        return None
    outer = node
    if node.type == "variable_declarator":
        outer = node.parent.parent if node.parent.parent.type in WRAPPERS else node.parent
    found = _known(node, outer, name, optional=node.type == "pair")
    return found._replace(name=found.name.strip("\"'"), last=value.end_point[0] + 1)


def _elixir(node: Any) -> Known | None:  # noqa: ANN401
    target, arguments = node.child_by_field_name("target"), None
    word = target.text.decode() if target is not None else ""
    arguments = next((one for one in node.named_children if one.type == "arguments"), None)
    if not re.fullmatch(r"def(?:p|module|macrop?|protocol|impl|guardp?|delegate|exception)?", word):
        return None
    if word == "defexception" or arguments is None or not arguments.named_children:
        return None
    name = arguments.named_children[0]
    while name.type in ("binary_operator", "call"):
        operator = name.child_by_field_name("operator")
        if operator is not None and operator.text != b"when" and word != "defmodule":
            return None  # it defines an operator
        name = name.child_by_field_name("left") or name.child_by_field_name("target")
    if name.type not in ("identifier", "alias"):
        return None
    return _known(node, node, name, optional=word == "defdelegate")


def _lua(node: Any) -> Known | None:  # noqa: ANN401
    if node.type == "field":  # of a table, as a pair of JavaScript
        name, value = map(node.child_by_field_name, ("name", "value"))
        is_function = name is not None and value.type == "function_definition"
        return _known(node, node, name, optional=True) if is_function else None
    names = [child for child in node.children if child.type == "variable_list"]
    values = [child for child in node.children if child.type == "expression_list"]
    if not names or not values or len(names[0].named_children) != 1:
        return None
    name, value = names[0].named_children[0], values[0].named_children[:1]
    if not value or value[0].type != "function_definition" or "[" in name.text.decode():
        return None
    return _known(node, node, name)


_DEFINES = {
    "elisp": re.compile(
        r"\((cl-\w*|ert-\w*|\w+-)?def(?!ault)\S*\s+'?\(?(?:setf\s+)?([^\s()\"';,]+)"
    ),
    "lisp": re.compile(
        r"\((?:[\w*+!%/-]+:{1,2})?(def\S*)\s+(\(setf\s+[^\s()]+\)|\(?\s*[^\s()\"';]+)"
    ),
    "scheme": re.compile(r"\((define\S*)\s+\(*([^\s()\"';]+)"),
}


def _lisp(node: Any, language: str) -> Known | None:  # noqa: ANN401
    text = node.text[:300].decode(errors="replace")
    found = _DEFINES[language].match(text)
    if not found or node.parent is None or "\n" in found[0]:
        return None
    word = found[2] if found[2].startswith("(setf") else found[2].lstrip("( ")
    optional = node.parent.parent is not None
    row = node.start_point[0] + 1
    return Known(word, row, row, row, node.end_point[0] + 1, optional)


def _markdown(root: Any, text: str) -> Iterator[Known]:  # noqa: ANN401
    found, nodes = [], [root]
    while nodes:
        node = nodes.pop()
        if node.type not in ("atx_heading", "setext_heading"):
            nodes += node.children
            continue
        mark = next(
            match
            for child in node.children
            if (match := re.match(r"(?:atx_h|setext_h)(\d)", child.type))
        )
        content = node.child_by_field_name("heading_content")
        name = content.text.decode().strip() if content is not None else ""
        name = re.sub(r"\s+#+\s*$", "", name)
        found.append((node.start_point[0] + 1, int(mark[1]), name))
    yield from _sections(sorted(found), text)


def _rst(root: Any, text: str) -> Iterator[Known]:  # noqa: ANN401
    found, styles, nodes = [], list[tuple[str, int]](), [root]
    while nodes:
        node = nodes.pop()
        nodes += reversed(node.children)
        titles = [child for child in node.children if child.type == "title"]
        marks = [child for child in node.children if child.type == "adornment"]
        if node.type == "section" and titles and marks:
            style = marks[0].text.decode()[0], len(marks)
            if style not in styles:
                styles.append(style)
            name = titles[0].text.decode().strip()
            found.append((titles[0].start_point[0] + 1, styles.index(style) + 1, name))
    yield from _sections(sorted(found), text)


def _sections(found: list[tuple[int, int, str]], text: str) -> Iterator[Known]:
    lines = text.split("\n")
    for at, (line, level, name) in enumerate(found):
        last = next((next_[0] - 1 for next_ in found[at + 1 :] if next_[1] <= level), len(lines))
        while last > line and not lines[last - 1].strip():
            last -= 1
        yield Known(name, line, line, line, last, optional=False)


# ------------------------------------------------------------------------------ comparison


def plain(name: str) -> str:
    """Return the last part of `name`, without type parameters."""
    if "operator" in name:
        return "operator"
    name = name.strip().removeprefix("(setf ").strip("()[]").removeprefix("<<").lstrip("~")
    if name.isupper() is False and "(" in name:
        name = name.partition("(")[2].partition(",")[0] or name
    name = re.sub(r"<(?:[^<>]|<[^<>]*>)*>(?=::)", "", name)
    name = re.sub(r"<.*", "", name.strip().strip("\"'`")) or name
    return re.split(r"::|[.:#]", name.replace(" ", ""))[-1] or name


def pairs(ours: list[Definition], theirs: list[Known]) -> list[int | None]:
    """Return the index in `theirs` for each of `ours`: the same name, within its head."""
    by_name = defaultdict(list)
    for at, one in sorted(enumerate(theirs), key=lambda pair: pair[1].optional):
        by_name[plain(one.name)].append(at)
        by_name[f"impl {one.head}"].append(at)
    used = set[int]()
    result: list[int | None] = []
    for mine in ours:
        names = [plain(mine.name)] + [f"impl {mine.line}"] * (mine.kind == "impl")
        if mine.name.endswith(")"):  # a macro: TEST(suite, name)
            names += [plain(part) for part in mine.name.partition("(")[2][:-1].split(",")]
            names.append(plain(mine.name.partition("(")[0]))
        found = next(
            (
                at
                for name in names
                for at in by_name[name]
                if at not in used
                and theirs[at].first <= mine.line <= max(theirs[at].line, theirs[at].head)
            ),
            None,
        )
        if found is not None:
            used.add(found)
        result.append(found)
    return result


def innermost(lines: list[tuple[int, int]], line: int) -> int | None:
    """Return the index of the last of the ranges `lines` that holds `line`."""
    return max((at for at, (a, b) in enumerate(lines) if a <= line <= b), default=None)


def compare(text: str, path: str, counts: Counter[str], wrong: list[str]) -> None:  # noqa: C901
    """Compare both for `text`, the file `path`.

    Add to `counts`, and append each difference to `wrong`.
    """
    language = language_of(path, text)
    theirs = known(language, text, path)
    if theirs is None:
        counts["unparsed"] += 1
        return
    start = time.process_time()
    made = outline(text, path, Budget())
    counts["microseconds"] += round((time.process_time() - start) * 1e6)
    counts["bytes"] += len(text)
    unseen = [(one.first + 1, one.last) for one in theirs if one.name == UNSEEN]
    ours = [
        one for one in (made.definitions if made else ()) if innermost(unseen, one.line) is None
    ]
    found = pairs(ours, theirs)
    of = {at: mine for mine, at in zip(ours, found, strict=True) if at is not None}
    counts["files"] += 1
    for at, one in enumerate(theirs):
        if not one.optional:
            counts["theirs"] += 1
            counts["found"] += at in of
            counts["last"] += at in of and of[at].last_line == one.last
            if at not in of:
                wrong.append(f"missing {path}:{one.line} {one.name}")
            elif of[at].last_line != one.last:
                wrong.append(f"last {path}:{one.line} {one.name} {of[at].last_line} for {one.last}")
    for mine, of_theirs in zip(ours, found, strict=True):
        counts["extra"] += of_theirs is None
        if of_theirs is None:
            wrong.append(f"extra {path}:{mine.line} {mine.name}")
    needed = [at for at, one in enumerate(theirs) if not one.optional]
    kept = [(mine, at) for mine, at in zip(ours, found, strict=True) if at is None or at in needed]
    numbers = [at for at, line in enumerate(text.split("\n"), 1) if line.strip()]
    for line in random.Random(path).sample(numbers, min(LINES_A_FILE, len(numbers))):  # noqa: S311
        want, got = set[int | None](), set[int | None]()
        for key in ("first", "head"):
            held = innermost([(getattr(theirs[n], key), theirs[n].last) for n in needed], line)
            want.add(None if held is None else needed[held])
        if None in want:
            continue
        for key in ("first_line", "line"):
            held = innermost([(getattr(m, key), m.last_line) for m, _ in kept], line)
            got.add(None if held is None else kept[held][1])
        counts["lines"] += 1
        counts["inside"] += bool(want & got)
        if not want & got:
            wrong.append(f"inside {path}:{line}")


def row(language: str, counts: Counter[str]) -> str:
    """Return a row of the table."""

    def part(a: str, *b: str) -> str:
        whole = sum(counts[one] for one in b)
        return f"{100 * counts[a] / whole:5.1f}" if whole else "  -  "

    speed = counts["microseconds"] / 1000 / max(1, counts["bytes"]) * 2**20
    return (
        f"{language:11} {counts['files']:5} {counts['theirs']:6}  {part('found', 'theirs')}"
        f"  {part('found', 'found', 'extra')}  {part('last', 'found')}  {part('inside', 'lines')}"
        f"  {speed:4.0f}  {counts['unparsed']:4}"
    )


def files(trees: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file in `trees` that is in UTF-8 and made by people."""
    for tree in trees:
        paths = sorted(Path(tree).rglob("*")) if Path(tree).is_dir() else [Path(tree)]
        for path in paths:
            if not path.is_file() or path.is_symlink():
                continue
            data = path.read_bytes()
            try:
                data = gzip.decompress(data) if path.suffix == ".gz" else data
                text = data.decode().replace("\r\n", "\n")
            except (UnicodeDecodeError, gzip.BadGzipFile):
                continue
            if len(text) < 2**20 and max(map(len, text.split("\n"))) <= LONGEST_LINE:
                yield str(path).removesuffix(".gz"), text


def main() -> None:
    """Run the command `record` or `compare` of the command line."""
    match sys.argv[1:]:
        case ["record"]:
            answers = {
                Path(path).name: [one for one in found if not one.optional]
                for path, text in files([str(FIXTURES)])
                if (language := language_of(path, text)) in NODES or language in ("markdown", "rst")
                if (found := known(language, text, path)) is not None
            }
            rows = (
                f"{json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, found)) + "\n]"
                for name, found in answers.items()
            )
            ANSWERS.write_text("{" + ",\n".join(rows) + "}\n", "utf-8")
        case ["compare", *trees] if trees:
            by_language = defaultdict[str, Counter[str]](Counter)
            wrong = defaultdict[str, list[str]](list)
            for path, text in files(trees):
                language = language_of(path, text)
                known_one = language in NODES or language in ("markdown", "rst")
                if known_one and by_language[language]["files"] < MAX_FILES:
                    compare(text, path, by_language[language], wrong[language])
            print("language    files   defs recall  prec.   last inside  ms/MiB  unparsed")
            for language, counts in sorted(by_language.items()):
                print(row(language, counts))
            Path("wrong.txt").write_text("\n".join(line for one in wrong.values() for line in one))
        case _:
            print(__doc__)


if __name__ == "__main__":
    main()
