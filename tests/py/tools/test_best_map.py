"""The map of a project: the names of most worth for their length, in any room."""

from collections.abc import Mapping
from random import Random

import pytest

from backstaff.budget import Budget
from backstaff.project.files import ProjectFiles
from backstaff.render.lines import size
from backstaff.render.tokens import tokens as estimated
from backstaff.tools.workspace import _best_map
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
    minimum = estimated(there.empty_line(""))
    for room in (minimum, minimum + 3, minimum + 20, minimum + 60):
        found = _best_map.best_map(there, room, estimated, Budget())
        assert sum(estimated(text) for text, _ in found) <= room, room


def test_blanks_between_directories_count_in_bytes() -> None:
    files: dict[str, list[str]] = {"": []}
    there = _best_map.survey(
        project_of(files | {name: ["f"] for name in "abcdefghi"}), "", {}, Budget()
    )
    for room in range(size(there.empty_line("")), 60):
        found = _best_map.best_map(there, room, size, Budget())
        assert sum(size(text) for text, _ in found) <= room, room
