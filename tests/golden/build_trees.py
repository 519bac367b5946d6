"""Build every golden tree below a folder, and write the cases there with its paths filled in."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.golden.cases import build, cases, filled

TEXTS = ("text", "data", "json")


def main(folder: Path) -> None:
    """Build them in `folder`, which must exist."""
    built = []
    for number, case in enumerate(cases()):
        root = folder / f"case-{number}"
        build(case, root)
        texts = {key: filled(case[key], root) for key in TEXTS if case.get(key)}
        added = {"root": str(root.resolve()), "arguments_json": json.dumps(case["arguments"])}
        built.append(case | texts | added)
    (folder / "cases.json").write_text(json.dumps(built))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
