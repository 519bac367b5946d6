"""The sandbox: which paths lead where, and which are refused with which error."""

import errno
import os
import resource
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backstaff.budget import Budget
from backstaff.errors import (
    Fault,
    InvalidPath,
    NotADirectory,
    NotFound,
    OutsideRoot,
    PathError,
    PermissionRefused,
)
from backstaff.fs.entry import Kind, names_in
from backstaff.fs.root import MAX_LINKS, Root
from tests.py.processes import in_child, unprivileged
from tests.py.trees import Plant


def look(root: Path, text: str) -> str:
    """The real path that `text` names below `root`."""
    with Root(str(root)) as opened, opened.resolve(text) as place:
        return place.path


def names(root: Path, text: str) -> list[str]:
    """The names in the directory that `text` names below `root`."""
    with Root(str(root)) as opened, opened.resolve(text) as place:
        return sorted(names_in(place.listing(), Budget()))


def refusal(root: Path, text: str) -> PathError:
    """The error with which `text` is refused."""
    with pytest.raises(PathError) as caught:
        look(root, text)
    return caught.value


@pytest.fixture
def project(tree: Plant) -> Path:
    """A root R with links of every kind, and neighbours that nobody may see."""
    outside = tree({"x": "secret", "d/": None}, "outside")
    tree({"x": "secret"}, "R-evil")
    root = tree(
        {
            "d/": None,
            "d/f": "content",
            "f": "content",
            "in": {"link": "d"},
            "file-link": {"link": "f"},
            "l": {"link": str(outside)},
            "up": {"link": ".."},
            "relative": {"link": "../outside"},
            "to-file": {"link": str(outside / "x")},
            "dangling": {"link": "nothing"},
            "dangling-outside": {"link": "../nothing"},
            "lost-outside": {"link": "nothing/../../outside"},
            "evil": {"link": "../R-evil"},
            "proc": {"link": "/proc/self/root/etc"},
            "slash-dot": {"link": "f/."},
            "slash": {"link": "f/"},
            "back": {"link": "../R/d"},
            "through": {"link": "../outside/../R/d"},
        }
    )
    (root / "abs").symlink_to(root / "d")
    return root


# ---------------------------------------------------------------------------- inside


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        (".", ""),
        ("./", ""),
        (".//.", ""),
        ("d", "d"),
        ("d/", "d"),
        ("d//f", "d/f"),
        ("./d/./f", "d/f"),
        ("d/..", ""),
        ("d/../f", "f"),
        ("../R", ""),
        ("../R/d", "d"),
        ("d/../../R/d", "d"),
        ("in", "d"),
        ("in/", "d"),
        ("in/f", "d/f"),
        ("in/..", ""),
        ("abs", "d"),
        ("abs/f", "d/f"),
        ("back/f", "d/f"),
        ("file-link", "f"),
    ],
)
def test_path_inside_is_found(project: Path, text: str, found: str) -> None:
    assert look(project, text) == str(project / found)


def test_absolute_path_inside_is_found(project: Path) -> None:
    assert look(project, str(project)) == str(project)
    assert look(project, f"{project}/in/f") == str(project / "d" / "f")
    assert look(project, f"/.{project}/../R//d/") == str(project / "d")


def test_place_describes_the_file_found(project: Path) -> None:
    with Root(str(project)) as root:
        with root.resolve("in") as place:
            assert (place.relative, place.name, place.kind) == ("d", "d", Kind.DIRECTORY)
            assert place.through_link
        with root.resolve("in/f") as place:
            assert (place.relative, place.name, place.kind) == ("d/f", "f", Kind.FILE)
            assert not place.through_link
            assert place.status.st_size == len("content")
        with root.resolve(".") as place:
            assert (place.relative, place.name) == (".", ".")


def test_directory_is_listed_through_its_place(project: Path) -> None:
    assert names(project, "abs") == ["f"]


@pytest.mark.parametrize("name", ["~root", "$HOME", "C:\\x", "[a]*", "~", "%2e%2e", "d\\..", "  "])
def test_name_is_literal(project: Path, name: str) -> None:
    assert isinstance(refusal(project, name), NotFound)
    (project / name).write_text("")
    assert look(project, name) == str(project / name)


def test_undecodable_name_is_found(project: Path) -> None:
    for name in (b"clich\xe9", rb"clich\351"):
        (project / os.fsdecode(name)).write_bytes(name)
    with Root(str(project)) as root:
        for name in (b"clich\xe9", rb"clich\351"):
            with root.resolve(os.fsdecode(name)) as place:
                assert os.fsencode(place.path).endswith(b"/R/" + name)


def test_path_longer_than_the_system_takes_in_one_name_is_found(tree: Plant) -> None:
    name = "n" * 200
    root = tree({}, "R" * 200)
    depth = 19
    made = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=made)
        inner = os.open(name, os.O_RDONLY, dir_fd=made)
        os.close(made)
        made = inner
    os.mkdir("end", dir_fd=made)
    os.close(made)
    text = f"{name}/" * depth + "end"
    assert len(f"{root}/{text}") > 4000
    assert look(root, text) == f"{root}/{text}"
    assert names(root, text) == []


# ---------------------------------------------------------------------------- outside

OUTSIDE = [
    "..",
    "../",
    "../.",
    "../..",
    "../R-evil",
    "../R-evil/x",
    "../outside/../R",
    "d/../..",
    "d/../../outside",
    "nothing/../../outside",
    "in/../../outside",
    "l",
    "l/",
    "l/.",
    "l/x",
    "l/nonexistent",
    "l/nonexistent/x",
    "l/..",
    "l/../R/d",
    "up",
    "up/outside",
    "relative",
    "relative/x",
    "to-file",
    "to-file/",
    "dangling-outside",
    "lost-outside",
    "evil",
    "evil/x",
    "proc",
    "proc/passwd",
    "through",
    "/",
    "/etc/passwd",
    "/nonexistent",
    "/proc/self/root/etc",
    "/ssh:h:/x",
    "//etc",
    "/..",
]


@pytest.mark.parametrize("text", OUTSIDE)
def test_path_leaving_the_root_is_refused(project: Path, text: str) -> None:
    assert isinstance(refusal(project, text), OutsideRoot)


def test_absolute_path_to_a_neighbour_with_the_same_prefix_is_refused(project: Path) -> None:
    for neighbour in (f"{project}-evil", f"{project}-evil/x", f"{project}/../R-evil/x"):
        assert isinstance(refusal(project, neighbour), OutsideRoot)


def test_refusal_does_not_tell_whether_anything_is_outside(project: Path) -> None:
    told = {
        (type(error), error.code, error.message, tuple(error.details))
        for error in (refusal(project, text) for text in OUTSIDE)
    }
    assert len(told) == 1


def test_path_too_long_for_the_system_does_not_hide_the_way_out(tree: Plant) -> None:
    # A resolver that stops at PATH_MAX takes the long link for a plain name and its ".." as words.
    tree({"secret": ""}, "outside")
    root = tree({})
    steps, long_name = "abcdefghijklmnop", "d" * 247
    place = root
    for step in steps:
        (place / long_name).mkdir()
        (place / step).symlink_to(long_name)
        place /= step
    (place / ("l" * 254)).symlink_to("../" * len(steps))
    text = "/".join(steps) + "/" + "l" * 254 + "/../outside"
    assert len(text) == 297
    assert os.path.realpath(root / text).startswith(str(root)), "the trap is no trap any more"
    assert isinstance(refusal(root, text), OutsideRoot)


def test_process_directory_as_root_is_not_left_through_its_magic_links() -> None:
    if not Path("/proc/self/root").exists():
        pytest.skip("needs /proc")
    for text in ("root", "root/", "root/etc", "root/etc/passwd", "self/root/etc", "cwd"):
        assert isinstance(refusal(Path("/proc/self"), text), (OutsideRoot, NotFound)), text


# ---------------------------------------------------------------------------- refused otherwise


@pytest.mark.parametrize("text", ["nothing", "d/nothing", "nothing/x", "d/nothing/../f", "in/no/"])
def test_missing_path_is_not_found(project: Path, text: str) -> None:
    error = refusal(project, text)
    assert isinstance(error, NotFound)
    assert error.fault is Fault.MISSING


def test_dangling_link_is_distinguished_from_a_missing_name(project: Path) -> None:
    error = refusal(project, "dangling")
    assert isinstance(error, NotFound)
    assert error.fault is Fault.DANGLING


@pytest.mark.parametrize("text", ["f/", "f/.", "slash", "slash-dot", "file-link/"])
def test_file_named_as_a_directory_is_refused(project: Path, text: str) -> None:
    error = refusal(project, text)
    assert isinstance(error, NotADirectory)
    assert error.fault is Fault.NOT_DIRECTORY


@pytest.mark.parametrize("text", ["f/x", "f/..", "f/../d", "d/f/x/y"])
def test_path_through_a_file_is_refused(project: Path, text: str) -> None:
    error = refusal(project, text)
    assert isinstance(error, NotADirectory)


@pytest.mark.parametrize("text", ["a\0b", "\0", "../\0", "\ud800", "x" * 5000, "/" * 4097])
def test_what_is_no_path_is_refused_first(project: Path, text: str) -> None:
    assert isinstance(refusal(project, text), InvalidPath)


def test_component_too_long_for_the_system_is_not_found(project: Path) -> None:
    assert isinstance(refusal(project, "n" * 256), NotFound)
    assert isinstance(refusal(project, "n" * 256 + "/../../outside"), OutsideRoot)


def test_present_are_paths_that_are_there_and_behind_no_link(tree: Plant) -> None:
    root = tree({"a/x": "", "a/b/y": "", "link": {"link": "a"}, "z": "", "sub/": None})
    asked = ["", "a", "a/b/", "a/b/no", "a/b/y", "a/x", "gone/x", "link", "link/x", "z", "z/x"]
    with Root(str(root)) as opened:
        assert list(opened.present(asked)) == ["", "a", "a/b/", "a/b/y", "a/x", "link", "z"]


def test_links_in_a_circle_are_refused(tree: Plant) -> None:
    root = tree({"a": {"link": "b"}, "b": {"link": "a"}, "self": {"link": "self"}})
    for text in ("a", "a/x", "self", "self/"):
        error = refusal(root, text)
        assert isinstance(error, PathError)
        assert "symbolic links" in error.message


def test_chain_of_links_is_followed_up_to_the_limit(tree: Plant) -> None:
    chain = {f"l{n}": {"link": f"l{n - 1}"} for n in range(1, MAX_LINKS + 2)}
    root = tree({"l0": "the end", **chain})
    assert look(root, f"l{MAX_LINKS}") == str(root / "l0")
    assert isinstance(refusal(root, f"l{MAX_LINKS + 1}"), PathError)


def test_links_that_multiply_components_are_refused(tree: Plant) -> None:
    long = {f"l{n}": {"link": "d/../" * 700 + f"l{n + 1}"} for n in range(6)}
    root = tree({"d/": None, "l6": "the end", **long})
    error = refusal(root, "l0")
    assert isinstance(error, PathError)
    assert "components" in error.message


@pytest.mark.check(21)
def test_special_file_is_found_and_never_opened(tree: Plant) -> None:
    root = tree({"fifo": {"fifo": True}})
    bound = socket.socket(socket.AF_UNIX)
    address = os.path.relpath(root / "socket")  # an address has but 108 bytes
    bound.bind(min(address, str(root / "socket"), key=len))
    bound.close()
    with Root(str(root)) as opened:
        for name, kind in (("fifo", Kind.FIFO), ("socket", Kind.SOCKET)):
            with opened.resolve(name) as place:
                assert place.kind is kind
            assert isinstance(refusal(root, f"{name}/"), NotADirectory)


# ---------------------------------------------------------------------------- the root itself


def test_root_that_is_a_link_is_reached_under_both_names(project: Path) -> None:
    alias = project.parent / "alias"
    alias.symlink_to(project)
    (project / "by-alias").symlink_to(alias / "d")
    for text in (f"{alias}/d", f"{project}/d", "by-alias", "../R/d"):
        assert look(alias, text) == str(project / "d")
    assert isinstance(refusal(alias, "../alias/d"), OutsideRoot)


def test_nothing_above_the_root_is_touched(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link above the root that leads to it is outside, as any other name there is."""
    (project.parent / "alias").symlink_to(project)
    touched: list[str] = []

    def noting(call: str) -> None:
        real = getattr(os, call)

        def note(path: object, *arguments: object, **options: object) -> object:
            touched.append(str(path))
            return real(path, *arguments, **options)

        monkeypatch.setattr(os, call, note)

    with Root(str(project)) as root:
        for call in ("open", "stat", "lstat", "readlink", "scandir"):
            noting(call)
        for text in ("outside/x", "outside", "nothing", "R-evil/x", "alias", "alias/d"):
            with pytest.raises(OutsideRoot):
                root.resolve(f"{project.parent}/{text}")
    assert not touched


def test_root_directory_of_the_system_can_be_the_root(project: Path) -> None:
    root = Path("/")
    assert look(root, "") == "/"
    assert look(root, "..") == "/"
    assert look(root, "../..") == "/"
    assert look(root, str(project / "l" / "x")) == str(project.parent / "outside" / "x")
    assert set(names(root, ".")) == {path.name for path in root.iterdir()}


@pytest.mark.parametrize("trailing", ["/", "/.", "//", "/d/.."])
def test_root_may_be_given_in_any_spelling(project: Path, trailing: str) -> None:
    assert look(Path(f"{project}{trailing}"), "d/f") == str(project / "d" / "f")
    with Root(f"{project}{trailing}") as root:
        assert root.path == str(project)


def test_root_must_exist_and_be_an_absolute_directory(project: Path) -> None:
    for given, kind in (
        (f"{project}/nothing", NotFound),
        (f"{project}/dangling", NotFound),
        (f"{project}/f", NotADirectory),
        (f"{project}/f/x", NotADirectory),
        ("relative", InvalidPath),
        ("", InvalidPath),
        ("/a\0", InvalidPath),
    ):
        with pytest.raises(PathError) as caught:
            Root(given)
        assert type(caught.value) is kind, given


def test_message_about_a_root_stays_on_one_line(project: Path) -> None:
    with pytest.raises(NotFound) as caught:
        Root(f"{project}/a\n[DIR]  b\x1b[2J\u202e")
    assert caught.value.message.isprintable()


def test_renamed_root_is_missing_and_found_again_when_it_comes_back(project: Path) -> None:
    assert look(project, "f")
    project.rename(project.parent / "elsewhere")
    with pytest.raises(NotFound) as caught:
        Root(str(project))
    assert "project root" in caught.value.message
    assert str(project) in caught.value.message
    (project.parent / "elsewhere").rename(project)
    assert look(project, "f")


def test_root_deleted_under_an_open_one_is_an_answer(tree: Plant) -> None:
    path = tree({})
    with Root(str(path)) as root:
        path.rmdir()
        with root.resolve(".") as place:
            assert list(names_in(place.listing(), Budget())) == []
        with pytest.raises(NotFound):
            root.resolve("f")


def test_root_that_vanishes_while_it_is_opened_is_not_found(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tree({})
    real_open = os.open

    def open_and_remove(name: str, flags: int) -> int:
        descriptor = real_open(name, flags)
        path.rmdir()
        return descriptor

    before = descriptors()
    monkeypatch.setattr(os, "open", open_and_remove)
    with pytest.raises(NotFound):
        Root(str(path))
    assert descriptors() == before


def test_root_replaced_while_it_is_opened_is_looked_at_again(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tree({"old": ""}), tree({"new": ""}, "other")
    real_open = os.open

    def open_and_replace(name: str, flags: int) -> int:
        descriptor = real_open(name, flags)
        if other.exists():
            path.rename(path.parent / "gone")
            other.rename(path)
        return descriptor

    monkeypatch.setattr(os, "open", open_and_replace)
    root = Root(str(path))
    monkeypatch.undo()
    with root, root.resolve("new") as place:
        assert place.path == str(path / "new")


def test_root_that_is_replaced_for_ever_is_given_up(
    tree: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tree({})
    before = descriptors()
    monkeypatch.setattr(os.path, "samestat", lambda *_: False)
    with pytest.raises(PathError) as caught:
        Root(str(path))
    assert "changed" in caught.value.message
    assert descriptors() == before


# ---------------------------------------------------------------------------- rights and limits


@pytest.fixture
def guarded(tree: Plant) -> Iterator[Path]:
    """Directories that may be read, passed or neither; each holds a file."""
    root = tree({f"{name}/f": "" for name in ("readable", "passable", "closed", "open")})
    modes = {"readable": 0o444, "passable": 0o111, "closed": 0o000, "open": 0o777}
    for name, mode in modes.items():
        (root / name).chmod(mode)
    yield root
    for name in modes:
        (root / name).chmod(0o755)


@pytest.mark.check(19)
def test_directory_that_can_only_be_passed_is_passed(guarded: Path) -> None:
    assert unprivileged(lambda: look(guarded, "passable/f")) == str(guarded / "passable" / "f")
    assert unprivileged(lambda: isinstance(_listing_error(guarded, "passable"), PermissionRefused))


def test_directory_that_can_only_be_read_is_listed(guarded: Path) -> None:
    assert unprivileged(lambda: names(guarded, "readable")) == ["f"]
    refused = unprivileged(lambda: refusal(guarded, "readable/f").code)
    assert refused == "PERMISSION_DENIED"


def test_closed_directory_is_found_but_refused(guarded: Path) -> None:
    assert unprivileged(lambda: look(guarded, "closed")) == str(guarded / "closed")
    assert unprivileged(lambda: refusal(guarded, "closed/f").code) == "PERMISSION_DENIED"
    assert unprivileged(lambda: isinstance(_listing_error(guarded, "closed"), PermissionRefused))


def test_root_that_may_not_be_reached_is_refused(guarded: Path) -> None:
    (guarded / "open" / "d").mkdir()
    assert unprivileged(lambda: look(guarded / "open" / "d", ".")) == str(guarded / "open" / "d")
    (guarded / "open").chmod(0o000)
    assert unprivileged(lambda: _root_error(guarded / "open" / "d")) == "PERMISSION_DENIED"


def test_words_that_leave_go_before_missing_rights(guarded: Path) -> None:
    assert unprivileged(lambda: refusal(guarded, "closed/../..").code) == "SANDBOX_VIOLATION"


@pytest.mark.parametrize("name", ["readable", "passable", "closed", "open"])
def test_access_to_a_directory_is_that_of_the_directory(guarded: Path, name: str) -> None:
    def access() -> tuple[bool, bool]:
        with Root(str(guarded)) as root, root.resolve(name) as place:
            return place.accessible(os.R_OK), place.accessible(os.W_OK)

    assert unprivileged(access) == (name in ("readable", "open"), name == "open")


def _root_error(given: Path) -> str:
    with pytest.raises(PathError) as caught:
        Root(str(given))
    return caught.value.code


def _listing_error(root: Path, text: str) -> PathError:
    with Root(str(root)) as opened, opened.resolve(text) as place:
        with pytest.raises(PathError) as caught:
            place.listing()
        return caught.value


@pytest.mark.check(20)
def test_lack_of_descriptors_is_an_answer(project: Path) -> None:
    def outcomes() -> list[str]:
        # No number below the limit may be free: a process that runs tests beside others has gaps.
        highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        while (free := os.open(os.devnull, os.O_RDONLY)) <= highest:
            pass
        os.close(free)
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        told = []
        for spare in range(8):
            resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, hard))
            try:
                told.append(" ".join(names(project, "in/../abs")))
            except PathError as error:
                told.append(error.message)
        return told

    told = in_child(outcomes)
    refused = os.strerror(errno.EMFILE).lower()
    assert told[:2] == [refused, refused]
    assert told[-1] == "f"
    assert set(told) == {refused, "f"}


def descriptors() -> int:
    """How many descriptors are open."""
    return len(list(Path("/dev/fd").iterdir()))


def test_no_descriptor_is_left_open(project: Path) -> None:
    texts = [*OUTSIDE, "d/f", "in/f", "in", "f/x", "f/", "nothing", "dangling", "\0", "d/../d/../d"]

    def look_all() -> None:
        for text in texts:
            try:
                with Root(str(project)) as root, root.resolve(text) as place:
                    if place.kind is Kind.DIRECTORY:
                        place.listing()
            except PathError:
                pass

    look_all()
    before = descriptors()
    for _ in range(100):
        look_all()
    assert descriptors() == before


# ---------------------------------------------------------------------------- changes meanwhile


def test_name_that_changes_for_ever_is_given_up(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pretend(monkeypatch, lambda name: _error(errno.ENOTDIR) if name == "d" else None)
    error = refusal(project, "d")
    assert isinstance(error, PathError)
    assert "changed" in error.message


def test_name_that_vanishes_while_it_is_looked_at_is_not_found(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def vanish(name: str) -> None:
        if name == "f":
            (project / "f").unlink()
            _error(errno.ENOTDIR)

    _pretend(monkeypatch, vanish)
    assert isinstance(refusal(project, "f"), NotFound)


def test_directory_that_becomes_a_link_meanwhile_is_followed_as_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap(name: str) -> None:
        if name == "d" and not (project / "d").is_symlink():
            (project / "d").rename(project / "moved")
            (project / "d").symlink_to("../outside")

    _pretend(monkeypatch, swap)
    assert isinstance(refusal(project, "d/x"), OutsideRoot)


def test_link_that_becomes_a_directory_meanwhile_is_entered(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_readlink = os.readlink

    def replace(name: str, *, dir_fd: int) -> str:
        (project / "l").unlink()
        (project / "l").mkdir()
        monkeypatch.setattr(os, "readlink", real_readlink)
        return real_readlink(name, dir_fd=dir_fd)

    monkeypatch.setattr(os, "readlink", replace)
    assert look(project, "l") == str(project / "l")


def test_failing_disk_is_an_answer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pretend(monkeypatch, lambda name: _error(errno.EIO) if name == "d" else None)
    error = refusal(project, "d/f")
    assert isinstance(error, PathError)
    assert error.message == os.strerror(errno.EIO).lower()


def _pretend(monkeypatch: pytest.MonkeyPatch, first: Callable[[str], None]) -> None:
    """Have `first` done with each name before it is opened."""
    real_open = os.open

    def open_after(name: str, flags: int, **options: int) -> int:
        first(name)
        return real_open(name, flags, **options)

    monkeypatch.setattr(os, "open", open_after)


def _error(number: int) -> None:
    raise OSError(number, os.strerror(number))
