"""The golden cases: reads them, builds their trees, and fills in facts of the file system."""

import json
import os
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
MTIME = 1_700_000_000
"""The default time of files, so that no case depends on the clock."""

Case = dict[str, Any]


def files() -> list[Path]:
    """The files of cases, one for each tool."""
    return sorted(FOLDER.glob("*.json"))


def cases() -> list[Case]:
    """All cases, in the order of files and lines."""
    return [case for path in files() for case in json.loads(path.read_text())]


def build(case: Case, root: Path) -> None:
    """Make the case's tree at `root`."""
    root.mkdir(parents=True)
    for name, content in case["tree"].items():
        make(root / name, content)
    asked = {root / name: content for name, content in case["tree"].items()}
    for path in [root, *root.rglob("*")]:
        content = asked.get(path)
        mtime = content.get("mtime", MTIME) if isinstance(content, dict) else MTIME
        os.utime(path, (mtime, mtime), follow_symlinks=False)


def make(path: Path, content: object) -> None:
    """Make an entry at `path` as `content` describes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    match content:
        case None:
            path.mkdir()
        case str():
            path.write_text(content)
        case {"text": str() as text, "bytes": int() as size}:
            path.write_text(text.ljust(size, "\n"))
        case {"text": str() as text}:
            path.write_text(text)
        case {"hex": str() as digits}:
            path.write_bytes(bytes.fromhex(digits))
        case {"bytes": int() as size}:
            path.write_bytes(b"x" * size)
        case {"link": str() as target}:
            path.symlink_to(target)
        case {"fifo": True}:
            os.mkfifo(path)
        case {"mtime": int()}:  # a directory
            path.mkdir()
        case _:
            raise ValueError(f"{path}: no such content: {content}")


def filled(expected: str, root: Path) -> str:
    """Return `expected` with its placeholders replaced by the facts below `root`."""
    path = Path(os.path.realpath(root))
    text = expected.replace("{root}", str(path)).replace("{name}", path.name)
    return re.sub(r"\{size:(.*?)\}", lambda match: str((root / match[1]).stat().st_size), text)


def with_placeholders(actual: str, case: Case, root: Path) -> str:
    """Do the inverse of `filled`, to write expectations again."""
    path = Path(os.path.realpath(root))
    text = actual.replace(str(path), "{root}").replace(path.name, "{name}")
    for name, content in case["tree"].items():
        if content is None:
            plain = name.rstrip("/")
            shown = json.dumps(Path(plain).name)
            size = (root / plain).stat().st_size
            text = text.replace(
                f":name {shown} :type :directory :size {size}",
                f":name {shown} :type :directory :size {{size:{plain}}}",
            )
    return text
