"""A command in TOML, as gemini-cli reads it: the strings `prompt` and, perhaps, `description`.

tomllib knows no limits, and a file of 40 KB can cost it half a minute: the time of a dotted key
takes the square of its names. So files are small, and dotted keys are short. Collections that nest
too deep end in a RecursionError, which is caught.
"""

import re

from backstaff.frontmatter.block import Document
from backstaff.fs.file import Content

MAX_NAMES = 32
"""Maximum number of names in a dotted key: 64 KiB of such keys take a tenth of a second."""

# The time is linear: quantifiers are possessive, and a key never begins inside a name.
_NAME = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_NAME}[ \t]*+\.[ \t]*+){{{MAX_NAMES}}}")


def document_of(content: Content) -> Document:
    """Return the `description` of a file as a field, and the `prompt` as the body."""
    if not content.whole:
        return Document(warning="the TOML is larger than 64 KiB, and not read")
    try:
        values = _values(content.head)
    except ValueError as error:
        return Document(warning=str(error))
    prompt, description = values.get("prompt"), values.get("description", "")
    if not isinstance(prompt, str) or not isinstance(description, str):
        return Document(warning="prompt and description must be strings, so gemini-cli skips it")
    return Document({"description": description}, prompt.encode(errors="replace"))


def _values(data: bytes) -> dict[str, object]:
    """Read `data`. Raises ValueError with the problem."""
    import tomllib  # here, as few have such commands and the import costs more than a small file

    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("the TOML is not UTF-8") from error
    if _LONG_KEY.search(text):
        raise ValueError(f"the TOML has a key of more than {MAX_NAMES} names, and is not read")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("the TOML nests too deep") from error
    except ValueError as error:  # TOMLDecodeError, or a number of too many digits
        raise ValueError(f"it is no TOML: {error}") from error
