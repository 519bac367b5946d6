"""Root.resolve against a slow model of it, and both against the kernel.

The kernel alone is no oracle, as two answers differ by design:

- *outside goes before missing*: `nothing/../..` leaves the root as written, and so does a link to
  such a path, though the kernel stops at a missing name. A path that leaves as written and comes
  back through a link (`l/..` where l is a link to d/e) is refused as well.
- *nothing outside is entered*: `../other/../R/d` and links like it come back into the root through
  a directory that is neither in it nor above it, or through a link above it. They are refused
  even if the kernel arrives.

So the model gives the expected answer, and the kernel is asked whether that is safe: a path found
must have the very inode that the kernel finds, inside; if that is outside, the path is refused.
"""

import os
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from backstaff.errors import NotADirectory, NotFound, OutsideRoot, PathError
from backstaff.fs.root import MAX_LINKS, Root
from tests.py.examples import examples
from tests.py.trees import plant

OUTSIDE, MISSING, NO_DIRECTORY, TOO_MANY_LINKS = "outside", "missing", "no directory", "links"
WORDS: dict[type[PathError], str] = {
    OutsideRoot: OUTSIDE,
    NotFound: MISSING,
    NotADirectory: NO_DIRECTORY,
    PathError: TOO_MANY_LINKS,
}

NAMES = ("a", "b", "c")
component = st.sampled_from((*NAMES, *NAMES, *NAMES, "..", "..", ".", "R", "out", "to-R"))
relative = st.lists(component, min_size=1, max_size=5).map("/".join)
starts = ("{R}", "{R}/a", "{R}/a/b", "{R}-evil", "{out}", "/", "{over}/to-R", "{over}/to-a")
absolute = st.sampled_from(starts).flatmap(
    lambda start: relative.map(lambda rest: f"{start}/{rest}") | st.just(start)
)
path = st.tuples(relative | relative | absolute, st.sampled_from(("", "", "", "/", "/."))).map(
    "".join
)
place = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
content = st.none() | st.just("") | path.map(lambda target: {"link": target})
trees = st.dictionaries(place, content, min_size=3, max_size=10)


def model(root: str, text: str) -> str:
    """The real path that `text` has to come to, or one of the words above.

    By strings and as plainly as can be: no descriptors, and no safety when something changes.
    """
    position = "/" if text.startswith("/") else root
    absolute_elsewhere = position == "/" and not below(root, "/" + "/".join(parts(text)))
    if not absolute_elsewhere and not below(root, in_words(position, text)):
        return OUTSIDE
    pending, links = parts(text), 0
    must_be_directory = text.endswith(("/", "/."))
    while pending:
        name = pending.pop(0)
        there = in_words(position, name)
        if name == ".." or below(there, root):
            position = there
            continue
        if not below(root, there):
            return OUTSIDE
        if not os.path.lexists(there):
            left = not below(root, in_words(there, "/".join(pending)))
            return OUTSIDE if left else MISSING
        if Path(there).is_symlink():
            links += 1
            if links > MAX_LINKS:
                return TOO_MANY_LINKS
            target = os.readlink(there)  # noqa: PTH115  # Path drops a final "/"
            must_be_directory |= not pending and target.endswith(("/", "/."))
            pending = parts(target) + pending
            position = "/" if target.startswith("/") else position
        elif Path(there).is_dir():
            position = there
        else:
            return NO_DIRECTORY if pending or must_be_directory else there
    return position if below(root, position) else OUTSIDE


def parts(text: str) -> list[str]:
    """The components of `text`."""
    return [part for part in text.split("/") if part not in ("", ".")]


def in_words(start: str, text: str) -> str:
    """Where `text` leads from `start` if nothing is a link."""
    return os.path.normpath(f"/{start}/{text}").replace("//", "/")


def below(upper: str, lower: str) -> bool:
    """Whether `lower` is `upper` or below it."""
    return (lower.rstrip("/") + "/").startswith(upper.rstrip("/") + "/")


def resolved(root: Root, text: str) -> tuple[str, os.stat_result | None]:
    """The answer of the code under test to `text`."""
    try:
        with root.resolve(text) as place:
            return place.path, place.status
    except PathError as error:
        return WORDS[type(error)], None


def as_the_kernel_has_it(root: str, text: str) -> os.stat_result | None:
    """The status of the file to which `text` leads for the kernel, if any."""
    try:
        return os.stat(text if text.startswith("/") else f"{root}/{text}")  # noqa: PTH116  # Path drops a final "/"
    except OSError:
        return None


def inodes(folder: str) -> set[tuple[int, int]]:
    """Everything in `folder`."""
    found = {identity(Path(folder).stat())}
    for directory, directories, files in os.walk(folder):
        for name in directories + files:
            found.add(identity(Path(directory, name).lstat()))
    return found


def identity(status: os.stat_result) -> tuple[int, int]:
    """The numbers that identify a file."""
    return status.st_dev, status.st_ino


def possible(tree: dict[str, object]) -> dict[str, object]:
    """Return `tree` without paths below a file or a link."""
    kept: dict[str, object] = {}
    for name in sorted(tree):
        steps = name.split("/")
        above = ["/".join(steps[:count]) for count in range(1, len(steps))]
        if all(kept.get(path) is None for path in above):
            kept[name] = tree[name]
    return kept


def filled(tree: dict[str, object], names: dict[str, str]) -> dict[str, object]:
    """Return `tree` with its links' targets made real."""
    return {
        name: {"link": what["link"].format(**names)} if isinstance(what, dict) else what
        for name, what in possible(tree).items()
    }


@examples(1 / 2)
@given(tree=trees, neighbour=trees, texts=st.lists(path, min_size=1, max_size=15))
def test_resolving_agrees_with_the_model_and_the_kernel(
    tree: dict[str, object], neighbour: dict[str, object], texts: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        names = {"R": f"{folder}/R", "out": f"{folder}/out", "over": str(folder)}
        root = str(plant(folder / "R", filled(tree, names)))
        plant(folder / "out", filled(neighbour, names))
        plant(folder / "R-evil", {"a": "secret"})
        plant(folder, {"to-R": {"link": "R"}, "to-a": {"link": f"{root}/a"}})
        inside = inodes(root)
        with Root(root) as opened:
            for text in (text.format(**names) for text in texts):
                judge(opened, root, text, inside)


def judge(opened: Root, root: str, text: str, inside: set[tuple[int, int]]) -> None:
    """Compare the three answers about `text`."""
    found, status = resolved(opened, text)
    assert found == model(root, text), text
    kernel = as_the_kernel_has_it(root, text)
    if status:
        assert identity(status) in inside, text
        assert kernel, f"{text} was found where the kernel finds nothing"
        assert identity(kernel) == identity(status), text
        assert identity(Path(found).lstat()) == identity(status), text
    elif kernel:
        assert found == OUTSIDE, f"{text} is {found}, but the kernel finds it"
