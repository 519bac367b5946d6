"""The table of languages, and the language of a file by its name or first line.

A test matches each example of a pattern, and repeats pieces of text to see that the time stays
linear: where a group is repeated, no two of its alternatives begin alike, or the first that matches
is kept (`?>`).
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from backstaff.structure.language import BLOCK, ESCAPED, Language

MAX_CHARACTERS, MAX_LINES = 1 << 20, 50_000  # of a text that has an outline
EXAMPLES: list[tuple[str, Mapping[str, str]]] = []
"""Patterns, and texts that they match, each with the name that a rule finds in it."""


def piece(pattern: str, *examples: str) -> str:
    """Return `pattern`, which matches each of `examples` as a whole."""
    EXAMPLES.append((rf"(?:{pattern})\Z", dict.fromkeys(examples, "")))
    return pattern


def rule(pattern: str, examples: Mapping[str, str]) -> str:
    """Return `pattern`, whose last group is the name in the line: `{"def f(x):": "f"}`."""
    EXAMPLES.append((pattern, examples))
    return pattern


STRING = piece(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", '"a \\" b"', "'(\"'", '""')


def between(begin: str, end: str, levels: int = 3) -> str:
    """Return a pattern for `begin` to `end` with so many `levels` of such pairs and strings."""
    others = rf"[^\{begin}\{end}\"']++|(?>{STRING}|[\"'])"
    inner = rf"\{begin}(?:{others})*\{end}"
    for _ in range(levels - 1):
        inner = rf"\{begin}(?:{others}|{inner})*\{end}"
    return inner


# A table: short facts share a line.
# fmt: off
PARENTHESES = piece(between("(", ")"), "()", "(a, (b))", '(")", (c(d)))', "('a)')")
BRACKETS = piece(between("[", "]"), "[]", "[Fact]", "[A(x[0]), B]", '["]"]')
# Not those of `->`, `=>`, `<=`, `>=`, `<<`.
ANGLES = piece(r"<(?:[^<>;{}]++|(?<=[-=])>|<(?:[^<>;{}]++|(?<=[-=])>|<(?:[^<>;{}]++|<[^<>;{}]*+>)*>)*>)*>",
    "<T>", "<A<B>, C<D<E>>>", "<F: Fn() -> A>", "<>")
AT_SIGN = piece(rf"@(?!interface\b)(?:[\w.:]++(?:\s?{PARENTHESES})?|{BRACKETS})",
    "@a.B", "@A(b = {1})")
HASH = piece(rf"#!?{BRACKETS}", "#[test]", "#![allow(a)]", "#[derive(A, B)]", '#[doc = "]"]')
TEMPLATE = piece(rf"template\s*{ANGLES}(?:\s*requires\s*(?:{PARENTHESES}|[\w:]++(?:{ANGLES})?"
    rf"(?:\s*(?:&&|\|\|)\s*[\w:]++(?:{ANGLES})?)*(?=\s*$)))?",
    "template <class T>", "template< typename... A, B<C> = 1 >", "template <T> requires A<T> && b")
ATTRIBUTE_C = piece(r"\[\[[^\]]*(?:\][^\]]+)*\]\]"
    rf"|(?:__attribute__|__declspec|alignas|_Alignas|explicit)\s*{PARENTHESES}",
    "[[nodiscard]]", '[[deprecated("x[0]")]]', "__attribute__((a(1)))", "alignas(8)")
_END = r"end(?!\w)"
_QUOTED, _SINGLE, _TRIPLE, _TRIPLE_SINGLE = ((q, q, ESCAPED) for q in ('"', "'", '"""', "'''"))
# A template of JavaScript; there may be another one in `${}`.
_TEMPLATE = ("`", "`", ESCAPED + r"|\$\{(?:[^{}`]|`[^`]*+`|\{[^{}]*+\})*\}")

# Commands and variables of the shell, which have strings of their own: `"$(a "b c" | d)"`.
_VARIABLE = r"\$\{[^{}\n]{0,400}+(?:\{[^{}\n]{0,400}+\}[^{}\n]{0,400}+){0,9}\}"
_WORDS = r"[^()\"'\\]{1,400}+|\\.|\"(?:[^\"\\]{1,400}+|\\.){0,99}\"|'[^']{0,500}+'"
_COMMAND = rf"{ESCAPED}|\$\((?:{_WORDS}|\((?:{_WORDS}){{0,99}}\)){{0,500}}\)|{_VARIABLE}"

# Functions as values, in JavaScript.
_PARAMETERS = r"\((?!\(|async\b|function\b)(?:[^()]++|\((?:[^()]++|\([^()]*+\))*\))*"
_RESULT = r"\s*+(?::[^=]*+)?=>"
_FUNCTION = piece(r"(?:async\s*+)?(?:function\b|[\w$]++\s*+=>|<(?:[^()]*[,<])?$|(?:<(?:[^()]|\([^()]*+\))*>\s*+)?"
    rf"{_PARAMETERS}(?:\){_RESULT}|\)\s*+:[^=]*[<{{]$|$))",
    "function", "async x =>", "(a, b = f()) =>", "<T>(a: T): T =>", "(a,", "(): A<", "<")
_TARGET = piece(r"(?>(?:[\w$]++!?\.|\([^()]*+\)\.)*)#?+[\w$]++", "a", "module.exports!.a", "(this).#a")
_TYPE = r"\s*+:(?:[^=({]++|=>)*"

_JAVASCRIPT = Language(files=".js .jsx .mjs .cjs", modes="node", rules=(
    rule(r"(function)\b\s*+\*?+\s*+([\w$]++)", {"function a() {": "a", "function* b() {": "b", "function *c(": "c"}),
    rule(r"(class|interface)\s++(?!extends\b|implements\b)([\w$.]++)(?!\s*+[=(:,.;)?])",
         {"class A extends B {": "A", "interface A<T> {": "A"}),
    rule(r"(namespace|module|enum)\s++(\"[^\"]*+\"|'[^']*+'|[\w$.]++)(?=\s*+\{)",
         {"namespace A.B {": "A.B", 'module "x" {': '"x"', "enum C {": "C"}),
    rule(r"(type)\s++([\w$]++)(?=\s*+(?:<|=(?!=)))", {"type A<T> = B": "A", "type A =": "A"}),
    rule(r"(?=[\w$.\s]++=\s*+(class)\b)(?:(?:const|let|var)\s++)?([\w$.]++)",
         {"const A = class {": "A", "a.B = class extends C {": "a.B"}),
    rule(rf"()(?:const|let|var)\s++([\w$]++)(?=\s*+(?::(?:[^=]++|=>)*)?=\s*+{_FUNCTION}|\s*+:(?=.*+(?<=[<({{]))(?:[^=]++|=>)*$)",
         {"const a = (b) => c": "a", "let a: B = async () => {": "a", "const a: A<": "a"}),
    rule(r"()(?=[^=]++=)(?:(?:(?:const|let|var)\s++)?[\w$.]++\s*+=\s*+){0,2}"
         rf"({_TARGET})(?=(?:{_TYPE})?=(?![=>])\s*+{_FUNCTION}|\s++(?:\|\||\?\?|&&)?=(?![=>])\s*+{_FUNCTION})",
         {"exports.a = function (b) {": "exports.a", "a = b = () => {": "b", "#a = x => x": "#a"}),
    rule(rf"()([\w$]++)(?=\s*+:\s*+(?:async\s*+)?(?:function\b|\((?:[^()]++|\([^()]*+\))*\){_RESULT}\s*+[({{{{]?+$))",
         {"a: function () {": "a", "b: async (c) => {": "b"}),
    ), attributes=AT_SIGN, bare=True,
    shape=rf"()(?!(?:if|for|while|switch)\b)[*# ]*+(?P<shape>(?!\d)[\w$]++|\"_*+\"|\[[^\]]*+\])\s*+\??\s*+(?:<$|(?!\(\s*+\")(?:{ANGLES}\s*+)?"
    rf"(?>{PARENTHESES}|\()(?:(?<=\))\s*+(?:[{{:;]|$)|(?<=\()(?!.*=>)))", ends="({<=,",
    long=(_TEMPLATE, BLOCK), opaque=r"/(?![*/])(?:(?<=[=(,:;!&|?\[{}>]/)|(?<=[=(,:;!&|?\[{}>\s]\s/)|(?<=return /))"
    r"(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.){0,60}\]){1,99}/",
    words=r"function class~ interface~ type~ =>(?!~\{\n) \)~?\{(?!\n)",
    no_body=r"type |(?s:.*+)(?:(?<=[:|&<,?(=])|(?<=\bis)|(?<=\bextends)|(?<=\bkeyof)|(?<=\breadonly))")
_TYPED = r"()(?P<shape>)(?![}#{\[:,.+\-*/|&?!\"'`])(?=[^(=]*+\(|.*\boperator\b|\w++ \{$)"
_MACRO = piece(r"[A-Z_]{4,}[A-Z0-9_]*+(?:\([^)]*+\))?", "FMT_API", "EXPORT_AS(x)")
_BEFORE_NAME = rf"(?:(?:{_MACRO}|{ATTRIBUTE_C})\s++)*"
_PREPROCESSOR = r"#(?![ \t]*+(?:if|el|en))(?:\\(?s:.)|/\*(?:[^*]|\*(?!/))*+\*/|/|[^\\\n/]++)*(?P<p>)|'(?<=\d')(?=\d)"
_C = Language(files=".c .h", rules=(
        rule(rf"(?:typedef\s++)?(struct|union|enum)\s++{_BEFORE_NAME}(\w++)(?=\s*+(?:\{{|$))",
             {"struct a {": "a", "typedef enum B": "B", "union __attribute__((packed)) c {": "c"}),
        rule(r"typedef\s++(struct|union|enum)\b()(?=\s*+(?:\{|$))", {"typedef struct {": ""}),
    ), attributes=ATTRIBUTE_C, words="struct union enum", shape=_TYPED, of_c=True,
    no_body=r"(?:function|method) (?=(?s:.*+)(?<=[\w>]))(?s:.*)(?<!:)[:,](?!:)\s*+[\w:]++(?:<[^<>]*>)?\Z",
    opaque=_PREPROCESSOR, above=r"(?!\w++\s*+:$)[A-Za-z_][\w:<>,*& ]*+$|__attribute__|\[\[")
_CPP = replace(_C, modes="c++", files=".cc .cpp .cxx .c++ .hh .hpp .hxx .h++ .ipp .inl .tpp .cu .cuh .ino", rules=(
        rule(rf"(?:typedef\s++)?(struct|union|class|enum(?:\s++(?:class|struct))?)\s++{_BEFORE_NAME}"
             r"((?:\w++(?:<[^<>;{]*+>)?::)*\w++)(?=\s*+(?:<[^;{]*>)?\s*+(?:\{|$|final\b|:(?!:)))",
             {"class A : B {": "A", "struct FMT_API a final": "a", "enum class X : int {": "X",
              "class [[nodiscard]] A {": "A", "struct hash<A> {": "hash"}), *_C.rules[1:],
        rule(r"(namespace)\s++(?:\[\[\w++\]\]\s*+)?((?:\w++(?:::)?)+)(?!\s*+=)", {"namespace a::b {": "a::b"}),
        rule(r"(concept)\s++(\w++)(?=\s*+=|$)", {"concept A = B<T>;": "A"}),
    ), attributes=f"{TEMPLATE}|{ATTRIBUTE_C}", words="struct class union enum namespace concept~",
    long=((r'R"([^()\\\s]{0,16})\(', r')\1"', ""), BLOCK),
    above=_C.above + r"|template\b|requires\b", goes_on=r"(?:throw|noexcept|const|requires)\b|__")
_JAVA = Language(files=".java", rules=(rule(r"(class|interface|enum|@interface|record(?=\s++\w++\s*+[(<]))\s++(\w++)",
        {"class A<T> extends B {": "A", "@interface C {": "C", "record P(int x) {": "P"}),),
    attributes=AT_SIGN, words=r"class~ interface~ enum~ record~ new~[^\n]{0,400}\{[~\t]*+$",
    shape=_TYPED, anonymous=True, long=(_TRIPLE, BLOCK))
_LISP = Language(files=".el", modes="emacs-lisp", rules=(rule(
        r"\(((?:cl-|ert-|\w++-(?=def(?:un|macro|var|custom|command|group|method|subst)\b))?"
        r"def(?!ault|ines|key\b|ine-(?:key|abbrev|word))[^\s()]*+|(?:transient|evil|magit)-def"
        r"[^\s()]*+)\s++'?+\(?+(?:setf\s++)?([^\s()\"';,]++)",
        {"(defun a-b (c)": "a-b", "(cl-defstruct (x": "x", "(ert-deftest t ()": "t"}),),
    words="\\(def -def", end="", comments=(";",), quotes='"', long=(_QUOTED,),
    opaque=r"\\.|\?\\?+.", goes_on=r"[^(#]|#[^|+-]")
_GENERIC = Language(files=".scala .sc .groovy .gradle .dart .zig .d .v .cr .jl .proto .thrift .graphql .sol .m .mm",
    rules=(rule(r"(def|class|fn|func|fun|function|struct|enum|trait|impl|interface|protocol|extension"
        r"|object|record|union|module|namespace|package(?=[^;{]*+\{)|sub|proc|procedure|macro"
        r"|typealias|type(?=\s++\w++\s*+[={]))"
        r"\s++(?:<[^<>]*+>\s*+)?((?:\w++\.)*[\w$?!]++)", {"def a(b)": "a", "object C {": "C"}),),
    attributes=AT_SIGN, long=(_TRIPLE, BLOCK), comments=("//", "# "), above=r"[@\[]", goes_on=r"where\b")
_MARKUP = Language(files=".md .markdown .mdx", rules=(r"(?!)()()",))

LANGUAGES: dict[str, Language] = {
    "python": Language(files=".py .pyi .pyw SConstruct", modes="python",
        rules=(rule(r"(def|class)\s++(\w++)", {"def a(b):": "a", "class C:": "C"}),),
        words="def~ class~", end="", comments=("#",),
        long=(_TRIPLE, _TRIPLE_SINGLE), goes_on=r"[)\]}]", above=r"@"),
    "javascript": _JAVASCRIPT, "java": _JAVA, "c": _C, "cpp": _CPP, "elisp": _LISP,
    "generic": _GENERIC, "markdown": _MARKUP, "org": replace(_MARKUP, files=".org"),
    "rst": replace(_MARKUP, files=".rst"),
    "typescript": replace(_JAVASCRIPT, files=".ts .tsx .mts .cts", modes=""),
    "go": Language(files=".go", rules=(
            rule(r"(?:(?=func\s++\((?:[^)]*[\s*(])?(?P<owner>\w++)(?:\[[^\]]*+\])?\)))?(func)\s++(?:\([^)]*+\)\s*+)?(\w++)",
                 {"func (a *A[T]) B(c int) {": "B"}),
            rule(r"(type)\s++(\w++|\($)", {"type A struct {": "A", "type (": "("}),
            r"()(?P<group>\w++)(?=(?:\[[^\]]*+\])?\s++[\w*\[(=])"),
        words="func~ type~", no_body=r"func (?s:.*+)(?:(?<=\binterface)|(?<=\bstruct))", long=(("`", "`", ""), BLOCK)),
    "rust": Language(files=".rs", rules=(rule(r"(fn|struct|enum|union|trait|mod|type)\s++(?:r#)?(\w++)",
                 {"fn a<T>(b: T) {": "a", "struct r#type;": "type"}),
            rule(r"(impl)\b(?:\s*+<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*>|(?<=[-=])>)*>)?\s++"
                 r"((?:[^{]*?\bfor\s++(?!<)|(?![^{]*\bfor\s))(?:&|'\w++\s|mut\s|dyn\s)*(?P<owner>(?:\w++::)*\w++)?[^{]*+)",
                 {"impl<T> A for B<T>": "A for B<T>"}), rule(r"(macro_rules!)\s*+(\w++)", {"macro_rules! a {": "a"})),
        attributes=HASH, words="fn~ struct~ enum~ union~ trait~ impl mod~ type~ macro_rules!",
        long=(('r"', '"', ""), (r'r(#++)"', r'"\1', ""), _QUOTED, BLOCK), quotes='"',
        opaque=r"'(?:\\.|[^\\'\n])'", above=r"#!?+\[", goes_on=r"where\b"),
    "kotlin": replace(_GENERIC, files=".kt .kts", rules=(
            rule(r"(fun)\s++(?:<(?:[^<>]|<[^<>]*+>)*>\s*+)?(?:[\w.<>?,* ]*\.)?`?+((?<=`)[^`]++|\w++)",
                 {"fun <T> List<T>.a(b: C) {": "a", "fun `a b`() {": "a b"}),
            rule(r"(?:companion\s++|enum\s++)?(class|interface|object|typealias)\s++`?+((?<=`)[^`]++|\w++)",
                 {"class A(b: C) {": "A", "companion object D {": "D"}),
            rule(r"(?=(companion)\b)(companion)\s++object\b", {"companion object {": "companion"}),
            rule(r"(?=(constructor)\b)(constructor)(?=\s*+\()", {"constructor(a: B) : this() {": "constructor"})),
        words="fun~ class~ interface~ object typealias~ constructor", comments=("//",), above=r"@", goes_on=r"where\b|(?:[a-z]++ )?constructor\b",
        opaque=r"`[^`\n]*+`(?P<h>)"),
    "csharp": replace(_JAVA, files=".cs", rules=(rule(
            r"(class|struct|interface|enum|record(?:\s++(?:class|struct))?|namespace"
            r"|delegate(?=\s))\s++(?:[\w<>\[\],.?]++\s++(?=\w++(?:<[^>]*+>)?\())?([\w.]++)",
            {"record struct A(int B);": "A", "delegate void H(int x);": "H", "namespace A.B": "A.B"}),),
        attributes=rf"(?:{BRACKETS})(?!\s*+[=.;])",
        words=r"class~ struct~ interface~ enum~ record~ namespace~ \)~=> \)~?\{", ends=")",
        opaque=r"#[a-z][^\n]*+", above=r"\[",
        anonymous=False, local=True, long=((r'""("++)', r'""\1', ""),
              *((mark, '"', '""') for mark in (r'\$@"', r'@\$"', '@"')), BLOCK)),
    "ruby": Language(files=".rb .rake .gemspec .ru Rakefile Gemfile Vagrantfile", modes="ruby", rules=(
            rule(r"(def)\s++(?:self\.)?((?:@*+\w++\.)?(?:\w++[?!=]?+|[^\w\s(]++))",
                 {"def a?(b)": "a?", "def self.c": "c", "def ==(other)": "=="}),
            # `class << self` has no name, and its methods are those of the class around it.
            rule(r"(class|module)\s*+(?<=\s)((?:::)?[A-Z][\w:]*+|(?=<<\s*+self\b)|<<\s*+\w++)",
                 {"class A::B < C": "A::B", "class << self": ""}),
        ), attributes=r"(?:module_function|memoize|private_class_method)(?=\s++def\b)",
        words="def~ class~ module~", end=_END, comments=("#",),
        long=(("=begin(?<![^\n]=begin)", "\n=end", ""),),
        here_document=r"<<(?P<indented>[~-])?(?P<q>[\"'`]?)(?P<word>[A-Z_]\w*+)(?P=q)",
        goes_on=r"(?:rescue|ensure|else|elsif|when|in)\b|[)\]}.]|(?:private|protected|public|module_function)$"),
    "elixir": Language(files=".ex .exs", modes="elixir", rules=(
            rule(r"(defmodule|defprotocol|defimpl)\s++([\w.]++)", {"defmodule A.B do": "A.B"}),
            rule(r"(def(?:p|macrop?|guardp?|delegate)?)(?:\s++|\()([a-z_]\w*+[?!]?+)(?![.:]|\s*+(?:[-+*/<>=|^&~]|and\b|or\b|in\b))",
                 {"def a?(b), do: b": "a?", "defmacrop c(d) do": "c", "def e when f": "e"}),
        ), words="def", end=_END, comments=("#",),
        long=(_TRIPLE, _TRIPLE_SINGLE, _QUOTED), quotes='"', above=r"@\w",
        opaque=r"\?(?<!\w\?)\\?+.|~[a-zA-Z]++(?!'''|\"\"\")(?:/(?:[^/\\\n]|\\.){0,300}/|\{[^{}\n]*+\}|\([^()\n]*+\)|\[[^\[\]\n]*+\]|\|[^|\n]*+\||'[^'\n]*+')",
        goes_on=r"(?:rescue|after|else|catch)\b|[)\]}|]"),
    "lua": Language(files=".lua", modes="lua", rules=(
            rule(r"(?:local\s++)?(function)\s++([\w.:]++)", {"local function a(b)": "a", "function A:b()": "A:b"}),
            rule(r"()(?:local\s++|[^=]*\)\.)?((?:[\w.]++|(?=\[))(?:\[[^\]=]*+\][\w.]*+)*)(?=\s*+=\s*+function\b)",
                 {"local a = function()": "a", "a.b[1].c = function(": "a.b[1].c", 't["x"] = function(': 't["x"]'}),
        ), words="function", end=_END, comments=(r"--(?!\[=*+\[)",), long=(
            *((rf"{c}\[\[", "]]", "") for c in ("", "--")), *((rf"{c}\[(=++)\[", r"]\1]", "") for c in ("", "--"))), goes_on=r"[)\]}]"),
    "shell": Language(files=".sh .bash .zsh .ksh .bats", modes="sh bash zsh ksh shell-script",
        rules=(rule(r"(function)\s++([\w:.+@-]++)", {"function a-b {": "a-b"}),
               rule(r"()([\w:.+@-]++)(?=\s*+\(\s*+\))", {"c.d () {": "c.d"})), words="function~ \\)", comments=("#",),
        long=(('"', '"', _COMMAND), ("'", "'", "")),
        here_document=r"(?<!<)<<(?P<indented>-)?(?!<)[ \t]*+"
        r"(?P<word>'[^'\n]*+'(?![^\s;&|<>()])|\"[^\"\n]*+\"(?![^\s;&|<>()])|[^\s;&|<>()`]++)",
        opaque=rf"\\.|\$#|{_VARIABLE}"),
    "php": Language(files=".php .phtml", modes="php",
        rules=(rule(r"(function)\s++&?+\s*+(\w++)", {"function &a($b) {": "a"}),
               rule(r"(class|interface|trait|enum)\s++(\w++)", {"class A extends B": "A"})),
        attributes=HASH, words="function class~ interface~ trait~ enum~", comments=("//", r"#(?!\[)"),
        long=(_QUOTED, _SINGLE, BLOCK), above=r"#\[", goes_on=r"(?:extends|implements)\b",
        here_document=r"<<<(?P<indented>)\s*+[\"']?(?P<word>\w++)"),
    "perl": Language(files=".pl .pm .t", modes="perl", rules=(
            rule(r"(sub|package(?=[^;{]*+\{))\s++((?:\w++(?:::|'(?=\w))?)+)", {"sub a {": "a", "package A::B {": "A::B"}),
        ), words="sub~ package~", comments=(r"#(?<=\s#)",),
        here_document=r"<<(?P<indented>~)?(?P<word>\s*+[\"'][^\"'\n]++[\"']|[A-Z_]\w*+)",
        long=(*((f"={w}(?<![^\n]={w})", "\n=cut", "") for w in "head pod over item begin encoding for".split()),
              *((rf"{q}\{a}", b, rf"{ESCAPED}|\{a}(?:\\.|[^\\\{a}\{b}]|\{a}[^\{a}\{b}]*+\{b})*\{b}")
                for q in ("qq", "qw", "q") for a, b in ("{}", "[]", "()")), _QUOTED, _SINGLE),
        opaque=r"\$[#'\"`]|\\.|'(?<=\w')(?=\w)|"
        + "|".join(rf"{w}(?<![\w$@%]{w})(?P<d{w}>[/!|,#^~])(?:\\.|(?!(?P=d{w}))[^\\\n]){{0,400}}(?P=d{w})"
                   for w in "m s q y qr qq qw tr".split())
        + r"|/(?:(?<=[=(,;&|{}~]/)|(?<=[=(,;&|{}~]\s/)|(?<=(?:plit|less) /)|(?<=(?:if|or) /)|(?<=(?:and|not|rep) /))(?:\\.|[^/\\\n]){1,200}/"),
    "swift": replace(_GENERIC, files=".swift", rules=(
            rule(r"(class|struct|enum|protocol|extension|actor|func|typealias|macro)\s++"
                 r"`?+(?!(?:var|let)\b)((?<=`)[^`]++|(?:\w++\.)*\w++|\[[\w.]++\]|[^\w\s(\[]++)",
                 {"func `in`() {": "in", "extension A.B: C {": "A.B", "func == (": "=="}),
            rule(r"(?=(init|deinit|subscript)\b)(init|deinit|subscript)(?=[?!]?+\s*+(?:[(<{]|$))",
                 {"init?(a: B) {": "init", "deinit {": "deinit", "subscript<T>(i: T) -> A {": "subscript"}),
        ),
        words="func~ class~ struct~ enum~ protocol~ extension~ actor~ init deinit subscript typealias~ macro~",
        long=(_TRIPLE, (r'#(#{0,8}+)"""', r'"""#\1', ""), (r'#(#{0,8}+)"', r'"#\1', ""), BLOCK), comments=("//",),
        goes_on=r"(?:where|throws|rethrows|async)\b|\("),
    "lisp": replace(_LISP, files=".lisp .lsp .cl .asd", modes="lisp sbcl", rules=(
            r"\((?:[\w*+!%/-]++:{1,2}+)?(def[^\s()]*+)\s++(\(setf\s++[^\s()]++\)|\(?+[^\s()\"';]++)",
        ), words="def", long=(_QUOTED, (r"#\|", "|#", "")), opaque=r"#\\.|\\.|\|(?!#)[^|\n]*+\|", above=r"#[+-]"),
    "scheme": replace(_LISP, files=".scm .ss .sld .rkt", modes="scheme guile", words="\\(define",
        rules=(r"\((define[^\s()]*+)\s++\(*+([^\s()\"';]++)",), long=(_QUOTED, (r"#\|", "|#", "")),
        opaque=r"#\\.|\|(?!#)[^|\n]*+\|")}
# fmt: on
_BY_FILE = {file: name for name, facts in LANGUAGES.items() for file in facts.files.split()}
_BY_MODE = {mode: name for name, facts in LANGUAGES.items() for mode in facts.modes.split()}


def language_of(path: str, text: str) -> str:
    """Return the language of `text`, the file `path`, by its name or first line, or ""."""
    if len(text) > MAX_LINES and (len(text) > MAX_CHARACTERS or text.count("\n") > MAX_LINES):
        return ""
    stem, _, extension = path.rpartition("/")[2].rpartition(".")
    known = _BY_FILE.get(f".{extension.lower()}" if stem else extension, "")
    if extension == "h" and re.search(r"\n(?:class|namespace|template)\b", f"\n{text}"):
        return "cpp"
    if known or stem:
        return known
    found = re.match(r"#!.*|.*-\*-.*-\*-", text[:200])
    words = re.findall(r"[a-z+-]+", found[0].lower()) if found else ()
    return next((_BY_MODE[word] for word in words if word in _BY_MODE), "")
