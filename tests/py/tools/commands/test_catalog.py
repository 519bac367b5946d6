"""The catalog of commands: which heads are read again, and which are kept."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from backstaff.project.stamp import RACY_NS
from backstaff.tools.commands import _catalog
from tests.py.tools.commands.project import Project


@pytest.mark.usefixtures("settled")
def test_the_second_time_nothing_is_opened(project: Project, opened: list[str]) -> None:
    for name in "abc":
        project.write(f"{name}.md", f"{name}.")
    first = project.listing()
    assert sorted(opened) == ["a.md", "b.md", "c.md"]
    opened.clear()
    assert project.listing().text == first.text
    assert opened == []


@pytest.mark.usefixtures("settled")
def test_what_changes_is_seen_at_once(project: Project, opened: list[str]) -> None:
    project.write("a.md", "Old.")
    project.write("b.md", "B.")
    assert project.described() == {"a": "Old.", "b": "B."}
    project.write("a.md", "Newer.")
    project.write("c.md", "C.")
    opened.clear()
    assert project.described() == {"a": "Newer.", "b": "B.", "c": "C."}
    assert sorted(opened) == ["a.md", "c.md"]
    (project.commands / "b.md").unlink()
    assert project.described() == {"a": "Newer.", "c": "C."}
    (project.commands / "a.md").rename(project.commands / "d.md")
    assert project.described() == {"c": "C.", "d": "Newer."}


@pytest.mark.usefixtures("settled")
def test_a_file_that_took_another_s_place_is_seen(project: Project) -> None:
    old = project.write("a.md", "Old.")
    assert project.described() == {"a": "Old."}
    new = project.write("new", "New.")
    os.utime(new, ns=(old.stat().st_atime_ns, old.stat().st_mtime_ns))
    new.replace(old)
    assert project.described() == {"a": "New."}


@pytest.mark.usefixtures("settled")
def test_a_change_of_one_size_with_its_time_set_back_is_seen(project: Project) -> None:
    path = project.write("a.md", "Old.")
    before = path.stat()
    assert project.described() == {"a": "Old."}
    while path.stat().st_ctime_ns == before.st_ctime_ns:  # until the kernel's clock has moved on
        path.write_text("New.")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert project.described() == {"a": "New."}


@pytest.mark.usefixtures("settled")
def test_a_link_is_read_anew_when_it_or_its_target_changes(project: Project) -> None:
    one, two = project.root / "one.md", project.root / "two.md"
    one.write_text("One.")
    two.write_text("Two.")
    (project.commands / "a.md").symlink_to("../../one.md")
    assert project.described() == {"a": "One."}
    one.write_text("Changed.")
    assert project.described() == {"a": "Changed."}
    (project.commands / "a.md").unlink()
    (project.commands / "a.md").symlink_to("../../two.md")
    assert project.described() == {"a": "Two."}


def test_what_has_just_changed_is_read_again(
    project: Project, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = project.write("a.md", "Text.").stat().st_ctime_ns
    for age, reads in ((RACY_NS, 2), (RACY_NS + 1, 1)):
        monkeypatch.setattr(_catalog.time, "time_ns", lambda age=age: changed + age)  # type: ignore[attr-defined]  # its module
        opened.clear()
        project.listing()
        project.listing()
        assert len(opened) == reads


@pytest.mark.usefixtures("settled")
def test_the_cache_is_bounded(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_catalog.CACHE, "most", 6)
    projects = [
        Project(tmp_path / str(number), files={"a.md": "A.", "b.md": "B."}) for number in range(4)
    ]
    large = Project(tmp_path / "large", files={f"{number}.md": "X." for number in range(6)})
    for project in projects:
        project.listing()
    for project, reads in ((projects[2], 0), (projects[3], 0), (projects[1], 2), (large, 6)):
        opened.clear()
        project.listing()
        assert len(opened) == reads
    large.listing()
    assert len(opened) == 12


@pytest.mark.usefixtures("settled")
def test_many_threads_see_the_same(project: Project) -> None:
    for number in range(50):
        project.write(f"{number}.md", f"{number}.")
    with ThreadPoolExecutor(8) as pool:
        texts = set(pool.map(lambda _: project.listing().text, range(40)))
    assert len(texts) == 1
