"""Values that a model sends do not stay in memory, for any tool and argument."""

import gc
import tracemalloc
from collections.abc import Iterator, Mapping
from itertools import count

import pytest

from backstaff.arguments import ParameterType
from backstaff.cache import LRUCache
from backstaff.server import Server
from tests.py.attack.attackers import TOOLS
from tests.py.servers import fitting, server_at
from tests.py.trees import Plant

CHARACTERS = 20_000
CALLS = 25
ROUNDS = 3
"""Maximum number of measurements, of which one has to be small."""
TEXTS = [
    (tool_id, parameter.name)
    for tool_id, tool in TOOLS.items()
    for parameter in tool.parameters
    if parameter.type in (ParameterType.STRING, ParameterType.ARRAY) and not parameter.choices
]


@pytest.fixture
def server(tree: Plant) -> Server:
    root = tree({".claude/commands/go.md": "go on", "a/b.txt": "text"})
    return server_at(root)


@pytest.fixture
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def called(server: Server, tool_id: str, name: str, values: Iterator[str]) -> None:
    """Call the tool again and again, each time with another value of the parameter `name`."""
    parameter = next(one for one in TOOLS[tool_id].parameters if one.name == name)
    for value in [next(values) for _ in range(CALLS)]:
        given: object = [value] if parameter.type is ParameterType.ARRAY else value
        arguments: Mapping[str, object] = fitting(TOOLS[tool_id]) | {name: given}
        server.call(tool_id, arguments, {"for_model": True})


@pytest.mark.usefixtures("_traced")
@pytest.mark.parametrize(("tool_id", "name"), TEXTS)
def test_long_values_of_an_argument_are_not_kept(server: Server, tool_id: str, name: str) -> None:
    values = (f"q{number}".ljust(CHARACTERS, "z") for number in count())
    called(server, tool_id, name, values)  # load modules, and fill the bounded caches

    def growth() -> int:
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        called(server, tool_id, name, values)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    # Memory that is kept grows each time. Threads of other tests and imports allocate once.
    grown = [growth()]
    while grown[-1] >= CALLS * CHARACTERS // 4 and len(grown) < ROUNDS:
        grown.append(growth())
    assert grown[-1] < CALLS * CHARACTERS // 4, grown


def test_empty_values_fill_a_cache_like_others() -> None:
    recent: LRUCache[int, list[int]] = LRUCache(10, len)
    for number in range(100):
        recent.put(number, [])
    assert [number for number in range(100) if recent.get(number) is not None] == [*range(90, 100)]


def test_value_larger_than_a_cache_pushes_no_other_out() -> None:
    recent: LRUCache[int, list[int]] = LRUCache(10, len)
    recent.put(1, [1, 2])
    recent.put(2, [0] * 10)
    assert (recent.get(1), recent.get(2)) == ([1, 2], None)
    recent.put(1, [0] * 10)
    assert recent.get(1) is None, "an older value of the same key would be wrong by now"
