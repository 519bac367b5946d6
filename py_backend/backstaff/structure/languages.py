"""The table of languages: their facts, and the names and first lines of their files."""

import re
from dataclasses import replace

from backstaff.structure.language import ESCAPED, Ends, Language, Long, Shape

_QUOTED = {quote: Long(quote, ESCAPED) for quote in "\"'"}
_TRIPLE = {'"""': Long('"""', ESCAPED)}
_STARRED = ("//", "/*", "*/", "* ", "*")
_TYPES = frozenset(("struct", "union", "enum", "class"))

# What makes a variable or a property of JavaScript a function.
_FUNCTION = (
    r"(?:async\s*+)?(?:function\b|class\b|[\w$]++\s*+=>|<[^()]*+$|(?:<[^()]*>\s*+)?"
    r"\((?:[^()]|\((?:[^()]|\([^()]*+\))*\))*(?:\)\s*+(?::[^=]*+)?=>|$))"
)
# A table: short facts share a line.
# fmt: off
_JAVASCRIPT = Language(
    rules=(
        r"(function)\b\s*+\*?+\s*+([\w$]++)",
        r"(class|interface)\s++(?!extends\b|implements\b)([\w$.]++)(?!\s*+[=(:,.;)?])",
        r"(namespace|module)\s++(\"[^\"]*+\"|'[^']*+'|[\w$.]++)(?=\s*+\{)",
        r"(enum)\s++([\w$]++)(?=\s*+\{)",
        r"(type)\s++([\w$]++)(?=\s*+(?:<|=(?!=)))",
        rf"()(?:const|let|var)\s++([\w$]++)(?=\s*+(?::(?:[^=]|=>)*)?=\s*+{_FUNCTION})",
        rf"()((?:[\w$]++\.)*#?+[\w$]++)(?=\s*+=(?![=>])\s*+{_FUNCTION})",
        r"()([\w$]++)(?=\s*+:\s*+(?:async\s*+)?(?:function\b"
        r"|\((?:[^()]|\([^()]*+\))*\)\s*+(?::[^=]*+)?=>\s*+[({]?+$))",
    ),
    modifiers="export default declare async abstract const(?=\\s++enum) public private protected"
    " static readonly override accessor get set",
    shape=Shape.BARE, long_strings={"`": Long("`", ESCAPED)},
    opaque=r"[=(,:;!&|?\[{}]\s*+/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,60}\]){1,99}/",
    above=r"@[\w.]", goes_on=r"(?:extends|implements)\b",
)
_C = Language(
    rules=(
        r"(?:typedef\s++)?(struct|union|enum)\s++"
        r"(?:[A-Z_]{4,}+\s++|__attribute\w*+\s*+\(\([^)]*+\)\)\s*+)?(\w++)(?=\s*+(?:\{|$))",
        r"typedef\s++(struct|union|enum)\b()(?=\s*+(?:\{|$))",
    ),
    modifiers="static const extern inline", shape=Shape.TYPED, at_top=True, leaves=True,
    need_body=_TYPES, comment_lines=_STARRED, neutral=r"#|\w++\s*+:(?!:)\s*+$",
    above=r"[A-Za-z_][\w:<>,*& ]*+$|__attribute__|\[\[",
    goes_on=r"\w[\w\s*,\[\]]*+;$|(?:throw|noexcept|const|requires)\b|__",
)
_ATTRIBUTES = r"(?:(?:[A-Z_]{4,}+(?:\([^)]*+\))?|alignas\([^)]*+\)|\[\[[^\]]*+\]\])\s++)*"
_CPP = replace(
    _C,
    rules=(
        rf"(?:typedef\s++)?(struct|union|class|enum(?:\s++(?:class|struct))?)\s++{_ATTRIBUTES}"
        r"((?:\w++::)*\w++)(?=\s*+(?:<[^;{]*>)?\s*+(?:\{|$|final\b|:(?!:)))",
        _C.rules[1],
        r"(namespace)\s++((?:\w++(?:::)?)+)(?!\s*+=)",
    ),
    modifiers="static const extern inline virtual explicit constexpr friend", leaves=False,
    template=True, flat=frozenset(("namespace",)), long_strings={'R"(': Long(')"')},
    neutral=r"#|\w++\s*+:(?!:)\s*+$|(?:public|private|protected)(?:\s++\w++)?\s*+:(?!:)",
)
_JAVA = Language(
    rules=(r"(class|interface|enum|@interface|record(?=\s++\w++\s*+[(<]))\s++(\w++)",),
    modifiers=r"@(?!interface\b)[\w.]++(?:\([^()]*+\))? public private protected static final"
    " abstract sealed non-sealed strictfp synchronized native default",
    shape=Shape.TYPED, dotted=True, anonymous=True, long_strings=_TRIPLE, comment_lines=_STARRED,
    above=r"@\w", goes_on=r"(?:throws|extends|implements|permits)\b",
)
_LISP = Language(
    rules=(
        r"\(((?:cl-|ert-|\w++-(?=def(?:un|macro|var|custom|command|group|method|subst)\b))?"
        r"def(?!ault|ines|key\b|ine-(?:key|abbrev|word))[^\s()]*+|(?:transient|evil|magit)-def"
        r"[^\s()]*+)\s++'?+\(?+(?:setf\s++)?([^\s()\"';,]++)",
    ),
    ends=Ends.INDENT, comments=(";",), comment_lines=(";",), long_comments={}, quotes='"',
    long_quotes={'"': _QUOTED['"']}, resumes=True, opaque=r"\\.|\?\\?+.",
)
_HASHED = ("//", "/*", "*/", "* ", "*", "# ")
_GENERIC = Language(
    rules=(
        r"(def|class|fn|func|fun|function|struct|enum|trait|impl|interface|protocol|extension"
        r"|object|record|union|module|namespace|package(?=[^;]*+\{)|sub|proc|procedure|macro"
        r"|typealias|type(?=\s++\w++\s*+[={]))"
        r"\s++(?:<[^<>]*+>\s*+)?((?:\w++\.)*[\w$?!]++)",
    ),
    modifiers="public private protected internal static final abstract sealed open override inline"
    " suspend data value annotation async export local pub mutating indirect fileprivate unsafe"
    " virtual lazy implicit case(?=\\s++(?:class|object)) inner infix operator tailrec external"
    " expect actual companion @\\w++(?:\\([^()]*+\\))? enum(?=\\s++class)",
    long_strings=_TRIPLE, comments=("//", "# "), comment_lines=(*_HASHED, "#!"), above=r"[@\[]",
    goes_on=r"where\b",
)
_MARKUP = Language(rules=(r"(?!)()()",), long_comments={})

LANGUAGES: dict[str, Language] = {
    "python": Language(
        rules=(r"(def|class)\s++(\w++)",), modifiers="async", ends=Ends.INDENT, comments=("#",),
        comment_lines=("#",), long_comments={},
        long_strings={mark: Long(mark, ESCAPED) for mark in ('"""', "'''")}, goes_on=r"[)\]}]",
        above=r"@",
    ),
    "javascript": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "go": Language(
        rules=(r"(func)\s++(?:\([^)]*+\)\s*+)?(\w++)", r"(type)\s++(\w++|\($)"),
        owner=r"func\s++\((?:[^)]*[\s*(])?(\w++)(?:\[[^\]]*+\])?\)", leaves=True,
        group=r"(\w++)(?=(?:\[[^\]]*+\])?\s++[\w*\[(=])", long_strings={"`": Long("`")},
        neutral=r"\w++:$",
    ),
    "rust": Language(
        rules=(
            r"(fn|struct|enum|union|trait|mod|type)\s++(?:r#)?(\w++)",
            r"(impl)\b(?:\s*+<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*>|(?<=[-=])>)*>)?\s++([^{]++)",
            r"(macro_rules!)\s*+(\w++)",
        ),
        owner=r"impl\b.*?(?:\bfor\s+)?(?:dyn\s+)?((?:\w+::)*\w+)(?:<[^{]*>)?\s*(?:where\b.*)?$",
        modifiers=r"pub(?:\([^)]*+\))? default const async unsafe auto extern(?:\s*+\"[^\"]*+\")?",
        long_strings={"r" + "#" * n + '"': Long('"' + "#" * n) for n in range(3)}, quotes='"',
        long_quotes={'"': _QUOTED['"']}, opaque=r"'(?:\\.|[^\\'\n])'", above=r"#!?+\[",
        goes_on=r"where\b",
    ),
    "java": _JAVA,
    "kotlin": replace(
        _GENERIC,
        rules=(
            r"(fun)\s++(?:<[^>]*+>\s*+)?(?:[\w.<>?,* ]*\.)?(\w++)",
            r"(class|interface|object|typealias)\s++(\w++)",
        ),
        modifiers="public private protected internal open abstract sealed final override inline"
        " suspend data value annotation enum inner operator infix tailrec external expect actual"
        " companion fun(?=\\s++interface) const lateinit @[\\w.:]++(?:\\([^()]*+\\))?",
        comments=("//",), comment_lines=_STARRED, above=r"@",
    ),
    "csharp": replace(
        _JAVA,
        rules=(
            r"(class|struct|interface|enum|record(?:\s++(?:class|struct))?|namespace"
            r"|delegate(?=\s))\s++(?:[\w<>\[\],.?]++\s++(?=\w++(?:<[^>]*+>)?\())?([\w.]++)",
        ),
        modifiers=r"\[[^\]]*+\] public private protected internal static sealed abstract partial"
        " readonly ref unsafe new file override virtual async extern",
        anonymous=False, local=True,
        long_strings={
            '"""': Long('"""'),
            **{mark: Long('"', '""') for mark in ('@"', '$@"', '@$"')},
        },
        neutral=r"#", above=r"\[", goes_on=r"where\b",
    ),
    "c": _C,
    "cpp": _CPP,
    "ruby": Language(
        rules=(
            r"(def)\s++((?:\w++\.)?(?:\w++[?!=]?+|[^\w\s(]++))",
            r"(class|module)\s++((?:::)?[A-Z][\w:]*+|<<\s*+\w++)",
        ),
        modifiers="private public protected module_function memoize private_class_method",
        ends=Ends.WORD, comments=("#",), comment_lines=("#",),
        long_comments={"=begin": Long("\n=end")}, last_line="__END__",
        here_document=r"<<[~-]?+[\"'`]?+([A-Z_]\w*+)",
        goes_on=r"(?:rescue|ensure|else|elsif|when|in)\b|[)\]}.]",
    ),
    "lua": Language(
        rules=(
            r"(?:local\s++)?(function)\s++([\w.:]++)",
            r"()(?:local\s++)?([\w.]++)(?=\s*+=\s*+function\b)",
        ),
        ends=Ends.WORD, comments=("--",), comment_lines=("--",),
        long_comments={f"--[{'=' * n}[": Long(f"]{'=' * n}]") for n in range(3)},
        long_strings={f"[{'=' * n}[": Long(f"]{'=' * n}]") for n in range(3)}, goes_on=r"[)\]}]",
    ),
    "shell": Language(
        rules=(r"(function)\s++([\w:.+@-]++)", r"()([\w:.+@-]++)(?=\s*+\(\s*+\))"),
        need_body=frozenset(("function",)), comments=("#",), comment_lines=("#",), long_comments={},
        long_quotes={'"': _QUOTED['"'], "'": Long("'")}, resumes=True,
        here_document=r"<<-?+\s*+[\\\"']?+(\w++)", opaque=r"\\.|\$#|\$\{[^}\n]*+\}", goes_on=r"\(",
    ),
    "php": Language(
        rules=(
            r"(function)\s++&?+\s*+(\w++)",
            r"(class|interface|trait|enum)\s++(\w++)",
        ),
        modifiers="public private protected static final abstract readonly", leaves=True,
        comments=("//", "#"), comment_lines=_HASHED, long_quotes=_QUOTED,
        here_document=r"<<<\s*+[\"']?+(\w++)", above=r"#\[", goes_on=r"(?:extends|implements)\b",
    ),
    "perl": Language(
        rules=(r"(sub|package(?=[^;]*+\{))\s++((?:\w++(?:::|'(?=\w))?)+)",), comments=(" #",),
        comment_lines=("#",),
        long_comments={
            f"={word}": Long("\n=cut")
            for word in ("head", "pod", "over", "item", "begin", "encoding", "for ")
        },
        last_line="__END__", here_document=r"<<~?+[\"']?+([A-Z_]\w*+)",
        long_strings={f"{q}{a}": Long(b, ESCAPED) for q in ("q", "qq") for a, b in ("{}", "[]")},
        opaque=r"\$[#'\"`]|\\.",
    ),
    "swift": replace(
        _GENERIC,
        rules=(
            r"(class|struct|enum|protocol|extension|actor|func|typealias|macro)\s++"
            r"((?:\w++\.)*[\w]++|[^\w\s(]++)",
            r"(init|deinit)()",
        ),
        modifiers=_GENERIC.modifiers + " required convenience class(?=\\s++func) nonisolated"
        " prefix postfix borrowing consuming",
        comments=("//",),
    ),
    "elisp": _LISP,
    "lisp": replace(
        _LISP,
        rules=(
            r"\((?:[\w*+!%/-]++:{1,2}+)?(def[^\s()]*+)\s++"
            r"(\(setf\s++[^\s()]++\)|\(?+[^\s()\"';]++)",
        ),
        long_comments={"#|": Long("|#")}, opaque=r"#?\\.|\|(?!#)[^|\n]*+\|", above=r"#[+-]",
    ),
    "scheme": replace(
        _LISP,
        rules=(r"\((define[^\s()]*+)\s++\(*+([^\s()\"';]++)",),
        long_comments={"#|": Long("|#")}, opaque=r"#\\.|\|(?!#)[^|\n]*+\|",
    ),
    "markdown": _MARKUP,
    "org": _MARKUP,
    "rst": _MARKUP,
    "generic": _GENERIC,
}
_BY_EXTENSION = {
    extension: language
    for language, extensions in {
        "python": "py pyi pyw", "javascript": "js jsx mjs cjs",
        "typescript": "ts tsx mts cts", "go": "go",
        "rust": "rs", "java": "java",
        "kotlin": "kt kts", "csharp": "cs",
        "c": "c h", "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp cu cuh ino",
        "ruby": "rb rake gemspec ru", "lua": "lua",
        "shell": "sh bash zsh ksh bats", "php": "php phtml",
        "perl": "pl pm t", "swift": "swift",
        "elisp": "el", "lisp": "lisp lsp cl asd",
        "scheme": "scm ss sld rkt", "markdown": "md markdown mdx",
        "org": "org", "rst": "rst",
        "generic": "scala sc groovy gradle dart zig d v cr jl proto thrift graphql sol ex m mm",
    }.items()
    for extension in extensions.split()
}
# fmt: on
_BY_NAME = {"Rakefile": "ruby", "Gemfile": "ruby", "Vagrantfile": "ruby", "SConstruct": "python"}
_FIRST_LINE = re.compile(
    r"#!.*?\b(python|ruby|lua|bash|zsh|ksh|sh|perl|php|node|guile|sbcl)[\d.]*\b|.*-\*-.*?"
    r"\b(python|ruby|lua|shell-script|sh|perl|php|c\+\+|emacs-lisp|lisp|scheme)\b.*-\*-",
    re.IGNORECASE,
)
_BY_WORD = {
    **dict.fromkeys(("bash", "zsh", "ksh", "sh", "shell-script"), "shell"),
    "node": "javascript",
    "guile": "scheme",
    "sbcl": "lisp",
    "c++": "cpp",
    "emacs-lisp": "elisp",
}


def language_of(path: str, text: str) -> str:
    """The language of `text`, the file `path`, by its name and else its first line.

    "" if not known.
    """
    name = path.rpartition("/")[2]
    stem, _, extension = name.rpartition(".")
    known = _BY_NAME.get(name) or (stem and _BY_EXTENSION.get(extension.lower())) or ""
    if (
        known == "c"
        and extension == "h"
        and re.search(r"^(?:class|namespace|template)\b", text, re.MULTILINE)
    ):
        return "cpp"
    if known or stem:
        return known
    found = _FIRST_LINE.match(text, 0, 200)
    word = (found[1] or found[2]).lower() if found else ""
    return _BY_WORD.get(word, word)
