"""The lint of prose finds the phrases that it names."""

from pathlib import Path

from dev.lint_prose import findings


def test_phrases_are_found_and_a_reason_excuses_one(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        '"""Such a page has none."""\n'
        "# So begins a page.\n"
        'print("the caller is told")\n'
        'print("it shall stand")  # prose: a contract\n'
    )
    assert [line.partition(": ")[0].rpartition(":")[2] for line in findings(file)] == [*"123"]
