"""The acceptance checks of safety by number: the attack, and the required answer.

A test of a check carries its number: `@pytest.mark.check(7)` in Python, `:tags '(check-36)` in ERT.
`python -m tests.py.attack.checks`, in the root of the project, prints the tests of each check.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

CHECKS: Mapping[int, str] = {
    1: "`..`, `../`, `d/../..` are outside",
    2: "a link to the outside is outside, whatever follows it, in the same words",
    3: "links to the inside, and out and back in, are followed",
    4: "an absolute path to a neighbour with the same prefix is outside",
    5: "`/proc/self/root/etc`, and a link to it, is outside",
    6: "links in a circle fail within 10 ms; 41 links are too many, 40 are not",
    7: "a path that is too long for the system does not hide the way out",
    8: "blank, NUL, a lone surrogate, 5,000 characters are invalid arguments",
    9: "a component of 256 characters is not found",
    10: "`/ssh:h:/x`, `~root`, `$HOME`, `C:\\x`, `[a]*` are literal names",
    11: "a file with a slash at its end is not a directory",
    12: "200,000 listings under swap by each tool show nothing from outside",
    13: "an entry replaced by a link before it is looked at is a link, or unknown",
    14: "a root renamed during the session is a clear error",
    15: "a tree of 500 or 100,000 levels is cut at the cap in 50 ms",
    16: "in a /proc mounted in the root `self/root` is outside",
    17: "an entry that vanishes before it is looked at is unknown",
    18: "in a directory without search permission every entry is unknown",
    19: "a directory that can only be passed is unreadable, but what is in it is found",
    20: "10 descriptors are enough; with fewer there is an error as data",
    21: "fifos, sockets and devices are named as such and never opened",
    22: "two names that are equal in the output are both listed, in a stable order",
    23: "while two others write, what stays is listed exactly once",
    24: "names with control, bidi, invisible characters are quoted, on one line",
    25: "names that look like rows, columns, options are quoted",
    26: "CJK, emoji, NFC and NFD stand bare",
    27: "a message about a path with a newline is one line",
    28: "every output budget gives valid JSON within it, or says that it is too small",
    29: "1,200 names with one that is not UTF-8 are answered",
    30: "a header that is none, or 0, or too large ends the connection, or is answered",
    31: "half a frame, then silence, ends at the deadline",
    32: "an unreadable request is answered by uid or dropped, and the next works",
    33: "a reply of 16 MiB is an error that names its size",
    34: "eight replies of 2 MB at once stay whole",
    35: "two names that look alike to the reader are two files",
    36: "a reply that holds read syntax is refused, and nothing is evaluated",
    37: "an answer to nobody, or a second one, is ignored",
    38: "a server that is killed, exits or stops in a call is an error",
    39: "1 MB on stdout and stderr during a call has no effect",
    40: "a server that does not start is an error with its last words within 5 s",
    41: "when Emacs is killed the server is gone",
    42: "a quit ends a call at once, and the next one works",
    43: "nothing listens on stdio; over TCP another user is refused",
    44: "code in the project is never imported",
    45: "hostile Markdown files cost 50 ms at most and show nothing from outside",
    46: "hostile settings are refused, or bounded, and hang nothing",
}

TESTS = Path(__file__).parents[2]
_PYTHON = re.compile(r"@pytest\.mark\.check\(([^)]*)\)\n(?:@.*\n(?:[ )].*\n)*)*def (test_\w+)")
_ERT = re.compile(r"\(ert-deftest (\S+) \(\)\n(?:  \".*\n)?  :tags '\(([^)]*check-[^)]*)\)")
_NUMBER = re.compile(r"\b(?:check-)?(\d+)\b")


def shown() -> dict[int, list[str]]:
    """Return the tests of each check, by file and name."""
    found: dict[int, list[str]] = defaultdict(list)
    for path, name, rows in marked():
        for number in _NUMBER.findall(rows):
            found[int(number)].append(f"{path.relative_to(TESTS)}: {name}")
    return found


def marked() -> Iterator[tuple[Path, str, str]]:
    """Yield file, name and check numbers of each test that has some."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for rows, name in _PYTHON.findall(path.read_text("utf-8")):
            yield path, name, rows
    for path in sorted(TESTS.rglob("*-tests.el")):
        for name, rows in _ERT.findall(path.read_text("utf-8")):
            yield path, name, rows


if __name__ == "__main__":
    for check, tests in sorted(shown().items()):
        print(f"| {check} | {CHECKS[check]} | {'<br>'.join(tests)} |")  # noqa: T201
