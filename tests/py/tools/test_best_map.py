"""The map of a project: the names of most worth for their length, in any room."""

from collections.abc import Mapping
from math import ceil
from random import Random

import pytest

from backstaff.budget import Budget
from backstaff.project.files import ProjectFiles
from backstaff.render.lines import size
from backstaff.render.tokens import tokens as estimated
from backstaff.tools.workspace import _best_map
from backstaff.tools.workspace._best_map import FEW
from tests.py.trees import project_of


def mapped(
    project: ProjectFiles, room: float, heat: Mapping[str, float] | None = None
) -> list[tuple[str, _best_map.Row]]:
    there = _best_map.survey(project, "", heat or {}, Budget())
    return _best_map.best_map(there, room, estimated, Budget())


def test_hot_directory_is_opened_before_larger_ones() -> None:
    files: dict[str, list[str]] = {"": []}
    for n in range(6):
        files[f"l{n}"] = []
        files |= {f"l{n}/p{m}": [f"{x}.c" for x in range(9)] for m in range(4)}
    files |= {"hot": ["h.c"], "hot/sub": ["s.c"]}
    _, *lines = mapped(project_of(files), 60, {"hot/h.c": 1.0, "hot/sub/s.c": 5.0})
    assert [row["path"] for _, row in lines][:2] == ["hot", "hot/sub"], lines


def test_directories_at_the_top_leave_half_of_the_room_for_edited_files() -> None:
    files: dict[str, list[str]] = {"": []}
    files |= {f"directory-{number:03}": ["f.c"] for number in range(200)}
    files["hot"] = [f"{name}.c" for name in range(200)]
    heat = {f"hot/{name}": 1.0 for name in files["hot"]}
    (first, _), (hot, _) = mapped(project_of(files), 600, heat)
    assert 250 < estimated(first) <= 320
    assert estimated(hot) > 200


def test_directories_share_a_line_where_two_are_named() -> None:
    files: dict[str, list[str]] = {"": []}
    for part in "ab":
        files |= {part: [], f"{part}/many": []}
        files |= {f"{part}/many/{n}": ["1.c", "2.c"] for n in range(2 if part == "a" else 1)}
    files |= {"a/large": []}
    files |= {f"a/large/{n}": [f"{x}.c" for x in range(FEW)] for n in range(2)}
    assert [text for text, _ in mapped(project_of(files), 42)] == [
        "./ a/(204) b/many/0/\n",
        "a/large/ 0/(100) 1/(100)\n",
        "a/many/ 0/ 1/\n",
    ]


def random_project(seed: int) -> ProjectFiles:
    """A few directories, with names and kinds that are as short or as long as their counts."""
    random = Random(seed)  # noqa: S311 - a test repeats it

    def names(most: int) -> list[str]:
        kinds = ("", ".q", ".verylongknd", f".longkind{random.randrange(9)}")
        return [f"{number}{random.choice(kinds)}" for number in range(random.randrange(most))]

    files = {"": names(9)}
    for number in range(random.randrange(9)):
        path = "d" * random.choice((1, 1, 9)) + str(number)
        files[path] = names(4)
        files |= {f"{path}/e{n}": names(4) for n in range(random.randrange(3))}
    return project_of(files)


@pytest.mark.parametrize("seed", [*range(20), 326, 673, 1143, 1279])
def test_map_fits_in_any_room_that_is_of_use(seed: int) -> None:
    there = _best_map.survey(random_project(seed), "", {}, Budget())
    minimum = there.minimum(estimated)
    for room in (minimum, minimum + 3, minimum + 20, minimum + 60):
        found = _best_map.best_map(there, room, estimated, Budget())
        assert sum(estimated(text) for text, _ in found) <= room, room


def test_blanks_between_directories_count_in_bytes() -> None:
    files: dict[str, list[str]] = {"": []}
    there = _best_map.survey(
        project_of(files | {name: ["f"] for name in "abcdefghi"}), "", {}, Budget()
    )
    for room in range(ceil(there.minimum(size)), 60):
        found = _best_map.best_map(there, room, size, Budget())
        assert sum(size(text) for text, _ in found) <= room, room
