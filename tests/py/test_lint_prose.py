"""The lint for prose finds phrases that a reader has to read twice, and nothing in plain text."""

from pathlib import Path

import pytest

from dev.lint_prose import findings


def found(folder: Path, name: str, source: str) -> list[str]:
    """Return the findings in `source`, a file `name`, each as `line: phrase`."""
    path = folder / name
    path.write_text(source, "utf-8")
    return [line.removeprefix(f"{path}:").rpartition(": ")[0] for line in findings(path)]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("a.py", '"""What a caller has left."""\n', "1: What"),
        ("a.py", 'def f():\n    """Why git fails."""\n', '2: """Why '),
        ("a.py", "x = 1  # edited of late\n", "1: of late"),
        ("a.py", 'x = "all files but for links"\n', "1: but for"),
        ("a.py", 'x = f"{1} files are told"\n', "1: are told"),
        ("a.py", 'x = """One\n\nSo begins a page."""\n', "3: So begins"),
        ("a.el", ";; It shall be read.\n(f)\n", "1: shall"),
        ("a.el", '(defun f ()\n  "Return this.\nReturn what it has.")\n', "3: what"),
        ("a.org", "A file of which there are two, of late.\n", "1: of which there"),
        ("a.md", "\nHad it a name, it would be listed.\n", "2: Had it"),
    ],
)  # fmt: skip
def test_phrase_is_found_with_its_line(
    tmp_path: Path, name: str, source: str, expected: str
) -> None:
    assert found(tmp_path, name, source) == [expected]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.py", '"""Maximum number of files."""\n'),
        ("a.py", 'x = "say what to do"\n'),  # a message
        ("a.py", "# What is left? Nothing.\n"),
        ("a.py", "# `what` is the kind of place.\n"),
        ("a.py", 'x = "of late"  # prose: a quotation\n'),
        ("a.el", '(defun f (what)\n  "Return a place of the kind WHAT."\n  what)\n'),
    ],
)
def test_plain_text_has_no_finding(tmp_path: Path, name: str, source: str) -> None:
    assert found(tmp_path, name, source) == []
