"""Skills, commands and prompts in the forms in which public repositories hold them.

Every text here is made up; the forms are those that the clients' documentation names and those that
their readers were made lenient for. `PROJECT` stands below a project's root, `HOME` below the
user's home.
"""

from collections.abc import Mapping
from pathlib import Path

WORDS = "Reads the tide tables and answers questions. Use when someone asks for high water."
BODY = "\n# What to do\n\nRead the table.\n"


def head(*lines: str) -> str:
    """A file whose front matter has `lines`."""
    return "\n".join(("---", *lines, "---", "")) + BODY


def skill(name: str, *lines: str, description: str = WORDS) -> str:
    """A skill by the specification, with more `lines`."""
    return head(f"name: {name}", f"description: {description}", *lines)


SKILLS: Mapping[str, str] = {
    "plain/SKILL.md": skill("plain"),
    "all-fields/SKILL.md": skill(
        "all-fields",
        "license: Apache-2.0",
        "compatibility: Needs git and the network",
        "allowed-tools: Read Grep Bash(git:*)",
        "metadata:",
        "  author: someone",
        '  version: "1.0"',
    ),
    "double-quoted/SKILL.md": skill(
        "double-quoted", description='"Says \\"when\\": for tables and more."'
    ),
    "single-quoted/SKILL.md": skill(
        "single-quoted", description="'It''s for tables: all of them.'"
    ),
    "folded/SKILL.md": head("name: folded", "description: >-", "  One sentence", "  on two lines."),
    "literal/SKILL.md": head("name: literal", "description: |", "  Two", "  lines."),
    "plain-lines/SKILL.md": head("name: plain-lines", "description: A sentence", "  on two lines."),
    "comment/SKILL.md": head("# of ours", "name: comment", f"description: {WORDS}  # a note"),
    "crlf/SKILL.md": skill("crlf").replace("\n", "\r\n"),
    "größe/SKILL.md": skill("größe"),
    "numbers-2/SKILL.md": skill("numbers-2"),
    "rule-in-body/SKILL.md": skill("rule-in-body") + "\n---\n\nMore.\n",
    "with-files/SKILL.md": skill("with-files"),
    "with-files/scripts/run.py": "print('high water')\n",
    "with-files/references/README.md": "# Not a skill\n",
    "with-files/assets/template/SKILL.md": skill("template"),
    "group/grouped/SKILL.md": skill("grouped"),
    "a/b/c/fourth/SKILL.md": skill("fourth"),
    "a/b/c/d/fifth/SKILL.md": skill("fifth"),
    "node_modules/dependency/SKILL.md": skill("dependency"),
    ".system/hidden/SKILL.md": skill("hidden"),
    "README.md": "# Skills\n",
    "SKILL.md": skill("skills"),
    # Fields that only some agents read: those of Claude Code and of Copilot.
    "by-hand/SKILL.md": skill("by-hand", "disable-model-invocation: true"),
    "by-model/SKILL.md": skill("by-model", "user-invocable: false"),
    "by-model-2/SKILL.md": skill("by-model-2", "user-invokable: false"),
    "hinted/SKILL.md": skill("hinted", 'argument-hint: "[harbour] [date]"'),
    "hint-list/SKILL.md": skill("hint-list", "argument-hint: [harbour]"),
    "tool-list/SKILL.md": skill("tool-list", "allowed-tools: [Read, Grep]"),
    "tool-block/SKILL.md": skill("tool-block", "allowed-tools:", "  - Read", "  - Grep"),
    # Names at odds with the specification: a warning.
    "other-name/SKILL.md": skill("another-name"),
    "Upper/SKILL.md": skill("Upper"),
    "two--hyphens/SKILL.md": skill("two--hyphens"),
    "under_score/SKILL.md": skill("under_score"),
    "spaced/SKILL.md": skill("Tide Tables"),
    f"{'long-' * 13}name/SKILL.md": skill(f"{'long-' * 13}name"),
    "long-description/SKILL.md": skill("long-description", description="tides " * 200),
    # Broken: listed with the reason.
    "colon/SKILL.md": skill("colon", description="Use when: someone asks"),
    "colon-lines/SKILL.md": head(
        "name: colon-lines", "description: Use when: someone", "  asks for tides", "license: MIT"
    ),
    "two-hints/SKILL.md": skill("two-hints", "argument-hint: [harbour] [date]"),
    "twice/SKILL.md": skill("twice", "name: twice"),
    "anchor/SKILL.md": skill("anchor", "metadata: &all", "  a: b"),
    "tab/SKILL.md": head("name: tab", f"description: {WORDS}", "metadata:", "\ta: b"),
    "nameless/SKILL.md": head(f"description: {WORDS}"),
    "undescribed/SKILL.md": head("name: undescribed"),
    "empty-description/SKILL.md": head("name: empty-description", "description:"),
    "no-head/SKILL.md": BODY,
    "unclosed/SKILL.md": "---\nname: unclosed\ndescription: It has no end\n",
    "empty/SKILL.md": "",
    "list-head/SKILL.md": head("- name", "- description"),
    "lower/skill.md": skill("lower"),
}
"""Below a folder of skills. `SKILLS_FOUND` tells which of them a listing holds."""

SKILLS_LEFT_OUT = {
    *("with-files/assets/template", "a/b/c/d/fifth", "node_modules/dependency", "."),
}
"""Within another skill, five deep, in a folder that is passed over, in no folder of its own."""

PROJECT: Mapping[str, str] = {
    **{f".agents/skills/{path}": text for path, text in SKILLS.items()},
    ".claude/skills/deploy/SKILL.md": skill("deploy"),
    ".claude/skills/extra/SKILL.md": head("description: The name is the folder's"),
    ".gemini/skills/forecast/SKILL.md": skill("forecast"),
    ".gemini/skills/plain/SKILL.md": skill("plain", description="Shadowed by that of .agents"),
    ".opencode/skills/moor/SKILL.md": skill("moor"),
    ".opencode/skill/unmoor/SKILL.md": skill("unmoor"),
    ".eca/skills/anchorage/SKILL.md": skill("anchorage"),
    ".claude/commands/deploy.md": "Shadowed by the skill.\n",
    ".claude/commands/review.md": head("description: Review it", "argument-hint: <pull request>"),
    ".claude/commands/git/commit.md": head("description: Commit", "allowed-tools: Bash(git:*)"),
    ".claude/commands/git/hub/pr.md": "Open a pull request.\n",
    ".claude/commands/README.md": "# Commands\n",
    ".claude/commands/notes.txt": "none\n",
    ".gemini/commands/test.toml": 'description = "Test it"\nprompt = "Run the tests: {{args}}"\n',
    ".gemini/commands/git/fix.toml": 'prompt = """\nFix the last commit.\n\nThen push.\n"""\n',
    ".gemini/commands/broken.toml": 'prompt = "no end\n',
    ".gemini/commands/promptless.toml": 'description = "Nothing to say"\n',
    ".gemini/commands/notes.md": "none\n",
    ".opencode/commands/lint.md": head("description: Lint", "agent: build"),
    ".opencode/command/sub/types.md": "Check the types of $ARGUMENTS.\n",
    ".eca/commands/check-performance.md": head(
        "description: Check", "arguments:", "  - name: part", "    required: true"
    ),
    ".github/prompts/plan.prompt.md": head("description: Plan", "agent: plan"),
    ".github/prompts/file.prompt.md": head("name: named", "argument-hint: topic"),
    ".github/prompts/below/none.prompt.md": head("description: Not below"),
    ".github/prompts/none.md": "none\n",
}

HOME: Mapping[str, str] = {
    ".agents/skills/own/SKILL.md": skill("own"),
    ".claude/skills/plain/SKILL.md": skill("plain", description="Shadowed by the project's"),
    ".claude/commands/mine.md": "A command of my own.\n",
    ".gemini/commands/mine/too.toml": 'prompt = "Mine, too"\n',
    ".config/opencode/command/global.md": "Everywhere.\n",
    ".config/eca/commands/everywhere.md": "Everywhere, too.\n",
}


def plant(root: Path, files: Mapping[str, str]) -> None:
    """Write `files` below `root`."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
