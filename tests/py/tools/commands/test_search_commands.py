"""commands/search_commands: which commands a query finds, and their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.py.examples import examples
from tests.py.replies import code
from tests.py.tools.commands.project import SEARCH, Project, output, results


@pytest.fixture
def library(project: Project) -> Project:
    """A project in which `deploy` is found everywhere."""
    for name, text in {
        "deploy": "---\ndescription: Roll out\n---\n",
        "deployment": "---\ndescription: Undo\n---\n",
        "redeploy": "---\ndescription: Again\n---\n",
        "described": "---\ndescription: Before a deploy\n---\n",
        "content": "First things first.\n\nThen Deploy.",
        "hidden": "---\nis_dependency: true\ndescription: deploy\n---\n",
        "other": "Nothing.",
        "zeploy": "---\ndescription: Another\n---\n",
    }.items():
        project.write(f"{name}.md", text)
    return project


def test_places_and_ways_rank_as_the_table_says(library: Project) -> None:
    reply = library.call(SEARCH, query="Deploy")
    told = [(it["name"], [*it["matched_in"]], it["score"]) for it in results(reply)]
    assert told == [
        ("deploy", ["name"], 1.0),
        ("redeploy", ["name"], 1.0),
        ("deployment", ["name"], 1.0),
        ("described", ["description"], 0.7),
        ("content", ["content"], 0.3),
    ]
    assert output(reply)["searched"] == 7


def test_two_words_of_the_description_outweigh_one_of_the_name_and_one_of_the_content(
    project: Project,
) -> None:
    project.write("deploy-docs.md", "---\ndescription: Upload the manual\n---\nTo production.\n")
    project.write("ship.md", "---\ndescription: A deploy to production\n---\n")
    assert project.found("deploy production") == ["ship", "deploy-docs"]


def test_dependencies_are_hidden(library: Project) -> None:
    assert "hidden" not in library.found("deploy hidden", max_results=100)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("roll OUT", ["deploy"]),
        ("out, roll!", ["deploy"]),
        ("first things nowhere", ["content"]),
        ("things nowhere never", []),
        ("depl", ["deploy", "redeploy", "deployment"]),
        ("deployed", []),
        ("depot", []),
        ("zzz", []),
    ],
)
def test_queries(library: Project, query: str, found: list[str]) -> None:
    assert library.found(query)[: len(found) or None] == found


@pytest.mark.parametrize("query", ["", "  ", "\n", "?!", 5, None, ["x"]])
def test_queries_that_are_none(library: Project, query: object) -> None:
    reply = library.call(SEARCH, query=query)
    assert code(reply) == "INVALID_ARGUMENT"
    assert "'query'" in reply.text


@pytest.mark.parametrize("most", [0, 101, 1.5, "1"])
def test_max_results_out_of_range(library: Project, most: object) -> None:
    assert code(library.call(SEARCH, query="x", max_results=most)) == "INVALID_ARGUMENT"


WORDS = ("deploy", "roll", "out", "things", "first", "zoom", "then")


@examples(1 / 2)
@given(
    query=st.lists(st.sampled_from(("depl", "nothing", *WORDS))).map(" ".join),
    most=st.integers(1, 12),
)
def test_results_are_the_first_of_all_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, query: str, most: int
) -> None:
    files = {
        f"{one}-{two}.md": f"---\ndescription: {two} {one}\n---\n{three}\n"
        for one, two, three in zip(WORDS, WORDS[2:] + WORDS[:2], WORDS[3:] + WORDS[:3], strict=True)
    }
    project = Project(tmp_path_factory.mktemp("search"), files=files)
    everything = project.call(SEARCH, query=query or "x", max_results=100)
    some = project.call(SEARCH, query=query or "x", max_results=most)
    assert results(some) == results(everything)[:most]
    ranks = [(-it["score"], len(it["name"]), it["name"]) for it in results(everything)]
    assert ranks == sorted(ranks)
    assert all(0 <= it["score"] <= 1 for it in results(everything))
