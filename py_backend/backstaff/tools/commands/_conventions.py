"""The folders where agents keep commands, skills and prompts, and how each names its files.

The rules come from the documentation and the source of each client, as of August 2026. A client
may look in more places (enterprise settings, plugins, folders of a configuration file): these are
not read.

Agent Skills (agentskills.io: specification, and "Adding skills support" for clients)
    A skill is a folder with a file named exactly SKILL.md. Its front matter holds `name`, 1 to 64
    lower-case letters, digits and single hyphens, equal to the folder's name, and `description`,
    1 to 1,024 characters. Clients look in `.agents/skills` and in a folder of their own, in the
    project and in the user's home. They look 4 to 6 levels deep, pass over `.git` and
    `node_modules`, and read 2,000 folders at most. A project's skill goes before a user's of the
    same name. A name against the rules is a warning; a skill without a description is not offered.
Claude Code (code.claude.com/docs/en/skills)
    `.claude/skills` and `.claude/commands`; of one name, the skill counts. `a/b.md` is the command
    `/a:b`. `disable-model-invocation: true` keeps the model from it, `user-invocable: false` the
    user. It puts a user's skill before a project's; this listing follows Agent Skills instead.
gemini-cli (docs/cli/custom-commands.md, FileCommandLoader.ts, skillLoader.ts)
    `.gemini/commands/**/*.toml`, with the string `prompt` and perhaps `description`; `a/b.toml` is
    `/a:b`. `.gemini/skills` after `.agents/skills`, one level deep. It reads `name: value` and
    `description: value` line by line where the front matter is no YAML.
opencode (opencode.ai/docs/skills, config/command.ts, skill/index.ts)
    `.opencode/{command,commands}/**/*.md` and `.opencode/{skill,skills}/**/SKILL.md`; the user's
    are in `~/.config/opencode`. It calls the command `a/b.md` `/a/b`; here it is `a:b`.
ECA (docs/config/commands.md, docs/config/skills.md, commands.clj, skills.clj)
    `.eca/commands/**.md` and `.eca/skills/**/SKILL.md`; the user's are in `~/.config/eca`. It calls
    the command `a/B.md` `/b`; here it is `a:B`.
VS Code (docs/agent-customization/prompt-files, promptFilesLocator.ts)
    `.github/prompts/*.prompt.md`, not below. The name is `name` in the front matter, else the
    file's. VS Code spells `user-invocable` also `user-invokable`.
"""

import os
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

MARKDOWN, TOML, PROMPT = ".md", ".toml", ".prompt.md"
README = "README.md"
SKILL_FILES = ("SKILL.md", "skill.md")
"""The file of a skill. `skills-ref`, the reference, reads the second spelling; few agents do."""
DEPTH = 4
"""Maximum number of folders between one of a convention and a file."""
PASSED_OVER = (".git", "node_modules")


class Kind(StrEnum):
    """The kinds that a listing can hold, in their order of precedence."""

    SKILL = "skill"
    COMMAND = "command"
    PROMPT = "prompt"


class Scope(StrEnum):
    """The owner of a folder. The project's folders go before the user's."""

    PROJECT = "project"
    USER = "user"


class Folder(NamedTuple):
    """A folder to look in. `label` is its path, `~/.claude/commands`, and `source` the client.

    `depth` is how many folders below it may lead to a file. The contract's own folders have 0.
    """

    label: str
    source: str = ""
    kind: Kind = Kind.COMMAND
    suffix: str = MARKDOWN
    depth: int = 0

    def wants(self, name: str) -> bool:
        """Whether a file of this `name` would be a command (contract: filtering rules)."""
        return name.endswith(self.suffix) and not name.startswith(".") and name != README


_ALL = (
    Folder("agents/skills", "agents", Kind.SKILL, depth=DEPTH),
    Folder("claude/skills", "claude", Kind.SKILL, depth=DEPTH),
    Folder("gemini/skills", "gemini", Kind.SKILL, depth=DEPTH),
    Folder("opencode/skills", "opencode", Kind.SKILL, depth=DEPTH),
    Folder("opencode/skill", "opencode", Kind.SKILL, depth=DEPTH),
    Folder("eca/skills", "eca", Kind.SKILL, depth=DEPTH),
    Folder("claude/commands", "claude", depth=DEPTH),
    Folder("gemini/commands", "gemini", suffix=TOML, depth=DEPTH),
    Folder("opencode/commands", "opencode", depth=DEPTH),
    Folder("opencode/command", "opencode", depth=DEPTH),
    Folder("eca/commands", "eca", depth=DEPTH),
    Folder("github/prompts", "github", Kind.PROMPT, PROMPT),
)
_IN_CONFIG = ("opencode", "eca")
"""The clients whose folders of the user's are in `~/.config`; the others begin with `~/.`."""


def folders(directories: Collection[str], kinds: Collection[str]) -> list[Folder]:
    """Return the folders to look in, in their order of precedence.

    These are the contract's `directories` and, for `kinds`, those of the conventions. With
    `command` the contract's are read with their sub-folders.
    """
    if not kinds:
        return [Folder(label) for label in directories]
    config = os.environ.get("XDG_CONFIG_HOME", "")
    config = config.rstrip("/") if os.path.isabs(config) else "~/.config"
    known: list[Folder] = []
    for one in _ALL:
        known.append(one._replace(label=f".{one.label}"))
        if one.kind is not Kind.PROMPT:  # the place of the user's depends on the system
            label = f"{config}/{one.label}" if one.source in _IN_CONFIG else f"~/.{one.label}"
            known.append(one._replace(label=label))
    markdown = {
        one.label: one for one in known if (one.kind, one.suffix) == (Kind.COMMAND, MARKDOWN)
    }
    given = [markdown.get(label, Folder(label, "settings", depth=DEPTH)) for label in directories]
    if Kind.COMMAND not in kinds:
        given = [one._replace(depth=0) for one in given]
    others = [one for one in known if one.kind in kinds and markdown.get(one.label) not in given]
    order = list(Kind)

    def rank(one: Folder) -> tuple[bool, int]:
        return one.label.startswith(("~", "/")), order.index(one.kind)  # the user's are later

    return sorted(given + others, key=rank)
