"""The table of languages, and the language of a file by its name or first line."""

import re
from dataclasses import replace

from backstaff.structure.language import ESCAPED, Language, Long

_QUOTED = {quote: Long(quote, ESCAPED) for quote in "\"'"}
_TRIPLE = {'"""': Long('"""', ESCAPED)}
# A template of JavaScript; there may be another one in `${}`.
_TEMPLATE = Long("`", ESCAPED + r"|\$\{(?:[^{}`]|`[^`]*+`|\{[^{}]*+\})*\}")
# The beginning of a value that is a function, in JavaScript.
_FUNCTION = (
    r"(?:async\s*+)?(?:function\b|[\w$]++\s*+=>|<(?:[^()]*[,<])?$|(?:<(?:[^()]|\([^()]*+\))*>\s*+)?"
    r"\((?!\(|async\b|function\b)(?:[^()]|\((?:[^()]|\([^()]*+\))*\))*(?:\)\s*+(?::[^=]*+)?=>|\)\s*+:[^=]*[<{]$|$))"
)
# A table: short facts share a line.
# fmt: off
_JAVASCRIPT = Language(
    files=".js .jsx .mjs .cjs", modes="node", rules=(
        r"(function)\b\s*+\*?+\s*+([\w$]++)",
        r"(class|interface)\s++(?!extends\b|implements\b)([\w$.]++)(?!\s*+[=(:,.;)?])",
        r"(namespace|module|enum)\s++(\"[^\"]*+\"|'[^']*+'|[\w$.]++)(?=\s*+\{)",
        r"(type)\s++([\w$]++)(?=\s*+(?:<|=(?!=)))",
        r"(?=[\w$.\s]++=\s*+(class)\b)(?:(?:const|let|var)\s++)?([\w$.]++)",
        rf"()(?:const|let|var)\s++([\w$]++)(?=\s*+(?::(?:[^=]|=>)*)?=\s*+{_FUNCTION}|\s*+:[^=]*[<({{]$)",
        r"()(?=[^=]++=)(?:(?:(?:const|let|var)\s++)?[\w$.]++\s*+=\s*+){0,2}"
        rf"((?:[\w$]++\.|\([^()]*+\)\.)*#?+[\w$]++)(?=\s*+(?::(?:[^=({{]|=>)*)?=(?![=>])\s*+{_FUNCTION})",
        r"()([\w$]++)(?=\s*+:\s*+(?:async\s*+)?(?:function\b"
        r"|\((?:[^()]|\([^()]*+\))*\)\s*+(?::[^=]*+)?=>\s*+[({]?+$))",
    ),
    modifiers="export default declare async abstract const(?=\\s++enum) public private protected"
    " static readonly override accessor get set", bare=True, long={"`": _TEMPLATE},
    opaque=r"(?:[=(,:;!&|?\[{}>]|\breturn)\s*+/(?![*/])"
    r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,60}\]){1,99}/", above=r"@[\w.]",
    goes_on=r"(?:extends|implements)\b",
)
_C = Language(
    files=".c .h", rules=(
        r"(?:typedef\s++)?(struct|union|enum)\s++"
        r"(?:[A-Z_]{4,}+\s++|__attribute\w*+\s*+\(\([^)]*+\)\)\s*+)?(\w++)(?=\s*+(?:\{|$))",
        r"typedef\s++(struct|union|enum)\b()(?=\s*+(?:\{|$))",
    ), modifiers="static const extern inline", typed=True, at_top=True,
    neutral=r"#|\w++\s*+:(?!:)\s*+$",
    above=r"(?!\w++\s*+:$)[A-Za-z_][\w:<>,*& ]*+$|__attribute__|\[\[",
    goes_on=r"\w[\w\s*,\[\]]*+;$|(?:throw|noexcept|const|requires)\b|__",
)
_ATTRIBUTES = r"(?:(?:[A-Z_]{4,}+(?:\([^)]*+\))?|alignas\([^)]*+\)|\[\[[^\]]*+\]\])\s++)*"
_CPP = replace(
    _C, modes="c++", files=".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino",
    rules=(
        rf"(?:typedef\s++)?(struct|union|class|enum(?:\s++(?:class|struct))?)\s++{_ATTRIBUTES}"
        r"((?:\w++::)*\w++)(?=\s*+(?:<[^;{]*>)?\s*+(?:\{|$|final\b|:(?!:)))",
        _C.rules[1],
        r"(namespace)\s++((?:\w++(?:::)?)+)(?!\s*+=)",
    ), modifiers="static const extern inline virtual explicit constexpr friend"
    r" template\s*+<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*>)*>",
    flat=frozenset(("namespace",)), long={'R"(': Long(')"')},
    neutral=r"#|\w++\s*+:(?!:)\s*+$|(?:public|private|protected)(?:\s++\w++)?\s*+:(?!:)",
)
_JAVA = Language(
    files=".java",
    rules=(r"(class|interface|enum|@interface|record(?=\s++\w++\s*+[(<]))\s++(\w++)",),
    modifiers=r"@(?!interface\b)[\w.]++(?:\([^()]*+\))? public private protected static final"
    " abstract sealed non-sealed strictfp synchronized native default", typed=True, anonymous=True,
    long=_TRIPLE, above=r"@\w", goes_on=r"(?:throws|extends|implements|permits)\b",
)
_LISP = Language(
    files=".el", modes="emacs-lisp", rules=(
        r"\(((?:cl-|ert-|\w++-(?=def(?:un|macro|var|custom|command|group|method|subst)\b))?"
        r"def(?!ault|ines|key\b|ine-(?:key|abbrev|word))[^\s()]*+|(?:transient|evil|magit)-def"
        r"[^\s()]*+)\s++'?+\(?+(?:setf\s++)?([^\s()\"';,]++)",
    ), ends="indent", comments=(";",), quotes='"', long_quotes={'"': _QUOTED['"']}, resumes=True,
    opaque=r"\\.|\?\\?+.", goes_on=r"[^(#]|#[^|+-]",
)
_GENERIC = Language(
    files=".scala .sc .groovy .gradle .dart .zig .d .v .cr .jl .proto .thrift .graphql .sol .ex .m"
    " .mm", rules=(
        r"(def|class|fn|func|fun|function|struct|enum|trait|impl|interface|protocol|extension"
        r"|object|record|union|module|namespace|package(?=[^;]*+\{)|sub|proc|procedure|macro"
        r"|typealias|type(?=\s++\w++\s*+[={]))"
        r"\s++(?:<[^<>]*+>\s*+)?((?:\w++\.)*[\w$?!]++)",
    ),
    modifiers="public private protected internal static final abstract sealed open override inline"
    " suspend data value annotation async export local pub mutating indirect fileprivate unsafe"
    " virtual lazy implicit case(?=\\s++(?:class|object)) inner infix operator tailrec external"
    " expect actual companion @\\w++(?:\\([^()]*+\\))? enum(?=\\s++class)", long=_TRIPLE,
    comments=("//", "# "), above=r"[@\[]", goes_on=r"where\b",
)
_MARKUP = Language(files=".md .markdown .mdx", rules=(r"(?!)()()",))

LANGUAGES: dict[str, Language] = {
    "python": Language(
        files=".py .pyi .pyw SConstruct", modes="python", rules=(r"(def|class)\s++(\w++)",),
        modifiers="async", ends="indent", comments=("#",),
        long={**_TRIPLE, "'''": Long("'''", ESCAPED)}, goes_on=r"[)\]}]", above=r"@",
    ),
    "javascript": _JAVASCRIPT, "java": _JAVA, "c": _C, "cpp": _CPP, "elisp": _LISP,
    "generic": _GENERIC, "markdown": _MARKUP, "org": replace(_MARKUP, files=".org"),
    "rst": replace(_MARKUP, files=".rst"),
    "typescript": replace(_JAVASCRIPT, files=".ts .tsx .mts .cts", modes=""),
    "go": Language(
        files=".go", rules=(r"(func)\s++(?:\([^)]*+\)\s*+)?(\w++)", r"(type)\s++(\w++|\($)"),
        owner=r"func\s++\((?:[^)]*[\s*(])?(\w++)(?:\[[^\]]*+\])?\)",
        group=r"(\w++)(?=(?:\[[^\]]*+\])?\s++[\w*\[(=])", long={"`": Long("`")}, neutral=r"\w++:$",
    ),
    "rust": Language(
        files=".rs", rules=(
            r"(fn|struct|enum|union|trait|mod|type)\s++(?:r#)?(\w++)",
            r"(impl)\b(?:\s*+<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*>|(?<=[-=])>)*>)?\s++([^{]++)",
            r"(macro_rules!)\s*+(\w++)",
        ),
        owner=r"impl\b.*?(?:\bfor\s+)?(?:dyn\s+)?((?:\w+::)*\w+)(?:<[^{]*>)?\s*(?:where\b.*|\{.*)?$",
        modifiers=r"pub(?:\([^)]*+\))? default const async unsafe auto extern(?:\s*+\"[^\"]*+\")?",
        long={"r" + "#" * n + '"': Long('"' + "#" * n) for n in range(3)}, quotes='"',
        long_quotes={'"': _QUOTED['"']}, opaque=r"'(?:\\.|[^\\'\n])'", above=r"#!?+\[",
        goes_on=r"where\b",
    ),
    "kotlin": replace(
        _GENERIC, files=".kt .kts", rules=(
            r"(fun)\s++(?:<[^>]*+>\s*+)?(?:[\w.<>?,* ]*\.)?`?+((?<=`)[^`]++|\w++)",
            r"(class|interface|object|typealias)\s++`?+((?<=`)[^`]++|\w++)",
        ),
        modifiers="public private protected internal open abstract sealed final override inline"
        " suspend data value annotation enum inner operator infix tailrec external expect actual"
        " companion fun(?=\\s++interface) const lateinit @[\\w.:]++(?:\\([^()]*+\\))?",
        comments=("//",), above=r"@",
    ),
    "csharp": replace(
        _JAVA, files=".cs", rules=(
            r"(class|struct|interface|enum|record(?:\s++(?:class|struct))?|namespace"
            r"|delegate(?=\s))\s++(?:[\w<>\[\],.?]++\s++(?=\w++(?:<[^>]*+>)?\())?([\w.]++)",
        ),
        modifiers=r"\[[^\]]*+\] public private protected internal static sealed abstract partial"
        " readonly ref unsafe new file override virtual async extern", anonymous=False, local=True,
        long={'"""': Long('"""'), **dict.fromkeys(('@"', '$@"', '@$"'), Long('"', '""'))},
        neutral=r"#", above=r"\[", goes_on=r"where\b",
    ),
    "ruby": Language(
        files=".rb .rake .gemspec .ru Rakefile Gemfile Vagrantfile", modes="ruby", rules=(
            r"(def)\s++(?:self\.)?((?:@*+\w++\.)?(?:\w++[?!=]?+|[^\w\s(]++))",
            # `class << self` has no name, and its methods are those of the class around it.
            r"(class|module)\s++((?:::)?[A-Z][\w:]*+|(?=<<\s*+self\b)|<<\s*+\w++)",
        ), modifiers="private public protected module_function memoize private_class_method",
        neutral=r"(?:private|protected|public|module_function)$", ends="word", comments=("#",),
        long={"=begin": Long("\n=end")},
        here_document=r"<<[~-]?+[\"'`]?+([A-Z_]\w*+)",
        goes_on=r"(?:rescue|ensure|else|elsif|when|in)\b|[)\]}.]",
    ),
    "lua": Language(
        files=".lua", modes="lua", rules=(
            r"(?:local\s++)?(function)\s++([\w.:]++)",
            r"()(?:local\s++|[^=]*\)\.)?([\w.]++)(?=\s*+=\s*+function\b)",
        ), ends="word", comments=("--",),
        long={f"{a}[{n}[": Long(f"]{n}]") for a in ("--", "") for n in ("", "=", "==")},
        goes_on=r"[)\]}]",
    ),
    "shell": Language(
        files=".sh .bash .zsh .ksh .bats", modes="sh bash zsh ksh shell-script",
        rules=(r"(function)\s++([\w:.+@-]++)", r"()([\w:.+@-]++)(?=\s*+\(\s*+\))"),
        comments=("#",),
        long_quotes={'"': _QUOTED['"'], "'": Long("'")}, resumes=True,
        here_document=r"<<-?+\s*+[\\\"']?+(\w++)", opaque=r"\\.|\$#|\$\{[^}\n]{0,400}+\}",
        goes_on=r"\(",
    ),
    "php": Language(
        files=".php .phtml", modes="php",
        rules=(r"(function)\s++&?+\s*+(\w++)", r"(class|interface|trait|enum)\s++(\w++)"),
        modifiers="public private protected static final abstract readonly", comments=("//", "#"),
        long_quotes=_QUOTED, here_document=r"<<<\s*+[\"']?+(\w++)", above=r"#\[",
        goes_on=r"(?:extends|implements)\b",
    ),
    "perl": Language(
        files=".pl .pm .t", modes="perl",
        rules=(r"(sub|package(?=[^;]*+\{))\s++((?:\w++(?:::|'(?=\w))?)+)",), comments=(" #",),
        here_document=r"<<(?:~?+[\"']?+|\s*+[\"'])([A-Z_]\w*+)", long={
            **{f"={w}": Long("\n=cut") for w in "head pod over item begin encoding for".split()},
            **{f"{q}{a}": Long(
                b, rf"{ESCAPED}|\{a}(?:\\.|[^\\\{a}\{b}]|\{a}[^\{a}\{b}]*+\{b})*\{b}"
            ) for q in ("q", "qq", "qw") for a, b in ("{}", "[]", "()")},
        }, long_quotes=_QUOTED, resumes=True, braced=True, opaque=r"\$[#'\"`]|\\.|\w'(?=\w)"
        r"|(?<![\w$@%])(?:[msqy]|q[rqw]|tr)([/!|,#^~])(?:\\.|(?!\1)[^\\\n]){0,400}\1"
        r"|(?:[=(,;&|{}~]|\b(?:split|if|unless|and|or|not|grep))\s*+/(?:\\.|[^/\\\n]){1,200}/",
    ),
    "swift": replace(
        _GENERIC, files=".swift", rules=(
            r"(class|struct|enum|protocol|extension|actor|func|typealias|macro)\s++"
            r"((?:\w++\.)*[\w]++|[^\w\s(]++)",
            r"(init|deinit)()",
        ), modifiers=_GENERIC.modifiers + " required convenience class(?=\\s++func) nonisolated"
        " prefix postfix borrowing consuming", comments=("//",),
    ),
    "lisp": replace(
        _LISP, files=".lisp .lsp .cl .asd", modes="lisp sbcl", rules=(
            r"\((?:[\w*+!%/-]++:{1,2}+)?(def[^\s()]*+)\s++"
            r"(\(setf\s++[^\s()]++\)|\(?+[^\s()\"';]++)",
        ), long={"#|": Long("|#")}, opaque=r"#?\\.|\|(?!#)[^|\n]*+\|", above=r"#[+-]",
    ),
    "scheme": replace(
        _LISP, files=".scm .ss .sld .rkt", modes="scheme guile",
        rules=(r"\((define[^\s()]*+)\s++\(*+([^\s()\"';]++)",), long={"#|": Long("|#")},
        opaque=r"#\\.|\|(?!#)[^|\n]*+\|",
    ),
}
# fmt: on
_BY_FILE = {file: name for name, facts in LANGUAGES.items() for file in facts.files.split()}
_BY_MODE = {mode: name for name, facts in LANGUAGES.items() for mode in facts.modes.split()}
_MODES = "|".join(map(re.escape, _BY_MODE))
_FIRST_LINE = re.compile(
    rf"#!.*?\b({_MODES})[\d.]*(?!\w)|.*-\*-.*?(?<!\w)({_MODES})(?!\w).*-\*-", re.IGNORECASE
)


def language_of(path: str, text: str) -> str:
    """Return the language of `text`, the file `path`, or "" if neither name nor first line says it.

    The first line says it by an interpreter, or by a mode of Emacs.
    """
    stem, _, extension = path.rpartition("/")[2].rpartition(".")
    known = _BY_FILE.get(f".{extension.lower()}" if stem else extension, "")
    if extension == "h" and re.search(r"^(?:class|namespace|template)\b", text, re.MULTILINE):
        return "cpp"
    if known or stem:
        return known
    found = _FIRST_LINE.match(text, 0, 200)
    return _BY_MODE[(found[1] or found[2]).lower()] if found else ""
