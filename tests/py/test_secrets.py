"""Files that usually hold secrets are read for a model only after a person's yes."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstaff.errors import SettingsError
from backstaff.fs.secrets import SECRETS, Guard, for_root
from backstaff.registry import discover
from backstaff.server import Reply, Server
from backstaff.settings import Policy, Settings, load
from tests.py.test_unsaved import sent
from tests.py.trees import Plant

GUARD = Guard(SECRETS)
READER = "workspace/read_file"


def server(root: Path, *globs: str) -> Server:
    policy = Policy(secrets=globs) if globs else Policy()
    return Server(discover(), Settings(policy=policy), str(root))


def code(reply: Reply) -> object:
    return reply.error["code"] if reply.error else None


# ---------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    "path",
    [
        *(".authinfo", ".authinfo.gpg", ".AuthInfo", "a/b/.netrc", ".git-credentials"),
        *(".ssh/config", "x/.ssh/keys/mine", ".gnupg/a", ".aws/credentials", ".git/config"),
        *(".env", ".env.local", "web/.env.production", ".npmrc", ".pypirc", "keyrings/login"),
        *("tls/server.pem", "a.KEY", "id_rsa", ".config/gh/hosts.yml", "my.kdbx", "login.keyring"),
        *(".env~", ".env.~12~", "web/#.env#", "a\n/.env", ".ssh/a.pub/b", "id_r\u017fa"),
        *(".git/modules/x/config", ".git/modules/a/b/config", ".git/config.worktree"),
        *(".config/git/credentials", "p/.git/worktrees/w/config.worktree"),
    ],
)
def test_name_of_a_secret(path: str) -> None:
    assert GUARD.hides(path)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.example", ".env.sample", ".env.template", ".env.dist", "id_rsa.pub", ".ssh/a.pub"),
        *(
            ".ssh",
            "env",
            "keys.py",
            "id_rsa.py",
            "environment.py",
            ".git/configs",
            "aws/credentials",
        ),
        *("a.pem.md", ".gitignore", ".envoy", "src/.environment/a", ".env.example~", "."),
    ],
)
def test_name_that_is_no_secrets(path: str) -> None:
    assert not GUARD.hides(path)


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("/home/me/.aws", "credentials"),
        ("/home/me/.config", "gcloud/a/b.db"),
        ("/home/me/.config/gh", "hosts.yml"),
        ("/home/me/.ssh", "mine"),
        ("/home/me/.SSH/keys", "deep/mine"),
        ("/p/.git", "config"),
        ("/p/.git/modules/a", "config"),
    ],
)
def test_secret_is_one_as_well_where_the_root_is_the_directory_around_it(
    root: str, path: str
) -> None:
    guard = Guard(for_root(SECRETS, tuple(root.split("/")[1:])))
    assert guard.hides(path)


@pytest.mark.parametrize(
    ("root", "path"),
    [
        ("/home/me/.aws", "config"),
        ("/home/me/.aws", "a/credentials"),
        ("/home/me/aws", "credentials"),
        ("/home/me/.config", "git/ignore"),
        ("/home/me/.ssh", "mine.pub"),
        ("/", "credentials"),
        ("/p", "src/config"),
    ],
)
def test_root_makes_no_other_file_a_secret(root: str, path: str) -> None:
    assert not Guard(for_root(SECRETS, tuple(filter(None, root.split("/"))))).hides(path)


def test_credentials_are_asked_for_where_the_root_is_their_directory(tree: Plant) -> None:
    root = tree({".aws/credentials": "KEY", ".aws/config": "x"}) / ".aws"
    assert code(server(root).call("workspace/read_file", {"path": "credentials"})) == (
        "APPROVAL_REQUIRED"
    )
    assert server(root).call("workspace/read_file", {"path": "config"}).ok
    found = server(root).call("workspace/regexp_search", {"pattern": "KEY", "root_path": "."})
    assert "KEY" not in found.text.replace("KEY", "", 1), found.text


@given(
    st.lists(st.text("ab.*?/-", min_size=1, max_size=6), min_size=1), st.text("ab.~#/", max_size=9)
)
def test_glob_matches_as_many_names_anywhere(globs: list[str], path: str) -> None:
    from fnmatch import fnmatchcase

    globs = [glob for glob in globs if not glob.startswith("/") and "//" not in glob]
    names = path.rstrip("#~").split("/")
    if path != path.rstrip("#~") or "" in names or "#" in path or "[" in path:
        return

    def matches(glob: str) -> bool:
        words = glob.rstrip("/").split("/")
        last = len(names) - len(words) - glob.endswith("/")
        return any(
            all(map(fnmatchcase, names[at:], words)) and len(names[at:]) >= len(words)
            for at in range(last + 1)
        )

    assert Guard(tuple(globs)).hides(path) == any(map(matches, globs))


@pytest.mark.parametrize("path", ["a" * 4000, "a/" * 2000, "#" * 4000, "~" * 4000, ".~1" * 1300])
def test_time_is_linear_in_the_path(path: str) -> None:
    guard = Guard((*SECRETS, "*a*a*a*a*a*a*b", "a/a/a/a/*a/b"))
    guard.hides("warm")

    def seconds(times: int) -> float:
        start = time.process_time()
        guard.hides(path * times)
        return time.process_time() - start

    assert min(seconds(16) for _ in range(5)) < 60 * max(min(seconds(1) for _ in range(5)), 1e-4)


# ---------------------------------------------------------------------------- reading


def test_secret_is_read_once_a_person_has_approved(tree: Plant) -> None:
    asked = server(tree({".authinfo": "password hunter2"}))
    reply = asked.call(READER, {"path": ".authinfo"})
    assert reply.error is not None
    assert (code(reply), reply.error["secret"]) == ("APPROVAL_REQUIRED", ".authinfo")
    assert "the user can allow it in Emacs, or change secrets below [policy] in" in reply.text
    assert "hunter2" in asked.call(READER, {"path": ".authinfo"}, {"approved": True}).text
    assert "hunter2" in asked.call(READER, {"path": ".authinfo"}, {"person": True}).text
    assert code(asked.call(READER, {"path": ".authinfo", "approved": True})) == "APPROVAL_REQUIRED"


def test_approval_of_one_file_is_not_one_of_another(tree: Plant) -> None:
    asked = server(tree({".env": "one", ".netrc": "two", "a": {"link": ".env"}}))

    def read(path: str, secret: str) -> object:
        context = {"approved": True, "secret": secret}
        return code(asked.call("workspace/read_file", {"path": path}, context))

    assert [read(".env", secret) for secret in (".env", ".netrc", "")] == [
        *(None, "APPROVAL_REQUIRED", "APPROVAL_REQUIRED")
    ]
    assert (read("a", ".env"), read("a", "a")) == (None, "APPROVAL_REQUIRED")


def test_link_is_judged_by_its_name_and_by_its_target(tree: Plant) -> None:
    links = {"notes.txt": {"link": ".env"}, ".npmrc": {"link": "plain"}}
    asked = server(tree({".env": "x", "plain": "y", **links}))
    for path, secret in (("notes.txt", ".env"), (".npmrc", "plain"), ("./d/../.npmrc", "plain")):
        reply = asked.call("workspace/read_file", {"path": path})
        if "d/.." not in path:
            assert reply.error is not None
            assert (code(reply), reply.error["secret"]) == ("APPROVAL_REQUIRED", secret)
    assert "its target '.env' may hold secrets" in (
        asked.call("workspace/read_file", {"path": "notes.txt"}).text
    )
    assert asked.call("workspace/read_file", {"path": "plain"}).ok


def test_unsaved_text_of_a_secret_is_one(tree: Plant) -> None:
    asked = server(tree({".env": "on disk"}))
    for path in (".env", "new.pem"):
        context: dict[str, Any] = {"unsaved": [sent(path, b"unsaved words")]}
        assert code(asked.call(READER, {"path": path}, context)) == "APPROVAL_REQUIRED"
        assert (
            "unsaved words" in asked.call(READER, {"path": path}, context | {"approved": True}).text
        )


def test_missing_file_is_not_asked_about(tree: Plant) -> None:
    assert code(server(tree({})).call("workspace/read_file", {"path": ".env"})) == "NOT_FOUND"


def test_command_that_is_a_link_to_a_secret_is_not_shown(tree: Plant) -> None:
    root = tree({".env": "KEY=1", ".claude/commands/go.md": {"link": "../../.env"}})
    asked = server(root)
    seen = asked.call("commands/list_commands", {}, {"person": True})
    assert "KEY=1" in seen.text
    listed = asked.call(
        "commands/list_commands", {}
    )  # the file that the person saw is kept, but not for the model
    assert "KEY=1" not in f"{listed.text}{listed.data}"
    reply = asked.call("commands/get_command", {"command_name": "go"})
    assert (code(reply), "KEY=1" in reply.text) == ("APPROVAL_REQUIRED", False)
    approved = {"approved": True, "secret": ".env"}
    assert "KEY=1" in asked.call("commands/get_command", {"command_name": "go"}, approved).text


# ---------------------------------------------------------------------------- searching, listing


def test_search_counts_secrets_and_tells_none(tree: Plant) -> None:
    asked = server(tree({".env": "word", "d/.netrc": "word", "a": "word"}))
    unsaved = [sent(".env", b"word unsaved")]
    for context in ({}, {"unsaved": unsaved}, {"approved": True}):
        reply = asked.call("workspace/regexp_search", {"pattern": "word"}, context)
        assert "[not searched: 2 that may hold secrets]" in reply.text
        assert reply.data is not None
        assert [item["path"] for item in reply.data["items"]] == ["a"]  # type: ignore[attr-defined]
        assert (reply.data["skipped"]["secret"], reply.data["unsaved"]) == (2, [])  # type: ignore[index]
    below = asked.call("workspace/regexp_search", {"pattern": "word", "root_path": "d"})
    assert "1 that may hold secrets" in below.text
    own = asked.call("workspace/regexp_search", {"pattern": "word"}, {"person": True})
    assert "3 matches" in own.text


def test_search_that_finds_nothing_tells_nothing_of_secrets(tree: Plant) -> None:
    root = tree({".env": "word", ".gitignore": ".env\n", ".git/HEAD": "ref: refs/heads/main\n"})
    reply = server(root).call("workspace/regexp_search", {"pattern": "w.rd"})
    assert "match" not in reply.text.partition("\n")[2].replace("root_path", "")


def test_names_of_secrets_stand_in_listings(tree: Plant) -> None:
    asked = server(tree({".env": "", "id_rsa": ""}))
    everything = {"path": ".", "entry_kind": "all", "include_hidden": True}
    tree_text = asked.call("workspace/tree", everything).text
    found = asked.call("workspace/search_files", {"query": "rsa"}).text
    assert ".env" in tree_text
    assert "id_rsa" in tree_text
    assert "id_rsa" in found
    assert asked.call("agent-q/get_file_info", {"path": ".env"}).ok


# ---------------------------------------------------------------------------- settings, persons


def test_settings_choose_the_secret_files(tree: Plant, folder: Path) -> None:
    config = folder / "config.toml"
    config.write_text('[policy]\nsecrets = ["diary/", "!diary/public*"]\n')
    root = tree({"diary/a": "x", "diary/public.txt": "y", ".env": "z"})
    asked = Server(discover(), load(config, {}), str(root))
    for path, wanted in (
        ("diary/a", "APPROVAL_REQUIRED"),
        ("diary/public.txt", None),
        (".env", None),
    ):
        assert code(asked.call("workspace/read_file", {"path": path})) == wanted


@pytest.mark.parametrize(
    "glob", ["**/.env", "/.env", "", "!", "{a,b}", "[ab]", "a//b", "!/a", "a\\b"]
)
def test_glob_of_another_form_is_refused(folder: Path, glob: str) -> None:
    config = folder / "config.toml"
    config.write_text(f"[policy]\nsecrets = ['{glob}']\n")
    with pytest.raises(SettingsError, match=r":2: policy.secrets has .* matches anywhere"):
        load(config, {})


@pytest.mark.parametrize("globs", ["", '"!.env"', '"!.env", "a.txt"'])
def test_settings_in_the_project_allow_no_secret(tree: Plant, globs: str) -> None:
    root = tree({"config.toml": f"[policy]\nsecrets = [{globs}]\n", ".env": "x", "a.txt": "y"})
    asked = Server(discover(), load(root / "config.toml", {}), str(root))
    assert code(asked.call("workspace/read_file", {"path": ".env"})) == "APPROVAL_REQUIRED"
    wanted = "APPROVAL_REQUIRED" if "a.txt" in globs else None
    assert code(asked.call("workspace/read_file", {"path": "a.txt"})) == wanted


def test_policy_stops_no_person(tree: Plant) -> None:
    policy = Policy(deny=("workspace/tree",), prompt=("agent-q/*",))
    asked = Server(discover(), Settings(policy=policy), str(tree({"a": ""})))
    for tool_id, wanted in (
        ("workspace/tree", "POLICY_DENIED"),
        ("agent-q/list_directory", "APPROVAL_REQUIRED"),
    ):
        assert code(asked.call(tool_id, {"path": "."})) == wanted
        assert code(asked.call(tool_id, {"path": ".", "person": True})) == wanted
        assert asked.call(tool_id, {"path": "."}, {"person": True}).ok


def test_client_over_tcp_is_no_person(tree: Plant) -> None:
    asked = server(tree({".env": "x"}))
    asked.knows_persons = False
    reply = asked.call("workspace/read_file", {"path": ".env"}, {"person": True})
    assert code(reply) == "INVALID_ARGUMENT"
    assert "counts over a pipe only" in reply.text
