"""Which files usually hold secrets, by their names, and which of them a call may read.

A glob has one name or several, such as `*.pem` or `.aws/credentials`, and matches anywhere below
the root, whatever the case of letters. `*` and `?` stay within a name. With a slash at its end a
glob is a directory with all below it. `!` in front excepts files that others match: `!*.pub`.

Whoever opens the content of a file for a tool comes here: `Place.opened` and `Contents.data`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from backstaff.globs.wildcards import ANY, STAR, literal, regex

SECRETS = (  # the globs that hold unless the settings have others
    *(".authinfo*", ".netrc*", "_netrc", ".pgpass", ".my.cnf"),
    # Addresses of remote repositories may hold tokens. `.git/modules/` has those of submodules.
    *(".git-credentials", ".config/git/credentials", ".git/config", ".git/config.worktree"),
    *(".git/modules/", ".git/worktrees/*/config.worktree"),
    *(".ssh/", ".gnupg/", ".password-store/", "id_rsa", "id_dsa", "id_ecdsa*", "id_ed25519*"),
    *(".env", ".env.*", ".envrc", ".npmrc", ".pypirc", ".htpasswd", ".vault-token"),
    *(".aws/credentials", ".azure/", ".config/gcloud/", ".config/gh/hosts.yml", ".kube/config"),
    *(".docker/config.json", ".cargo/credentials*", ".gem/credentials", ".terraformrc"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore"),
    *("*.kdbx", "*.keyring", "*.keychain", "*.keychain-db", "keyrings/"),
    *("!*.pub", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist"),
)
UNSUPPORTED = re.compile(r"\*\*|[][{}\\]|^!?/|^!?$|//|\0")  # matches a glob that is not supported

# The marks that Emacs adds to names of backups and of unsaved files: `.env~`, `#.env#`.
_COPY = re.compile(r"(?:\.~\d+)?~\Z|(?<![^/])#(?=[^/]*#\Z)|#\Z")


@dataclass(frozen=True, slots=True)
class Guard:
    """The files that a call must not read: the `globs` match them, as `.env*` does."""

    globs: tuple[str, ...] = ()
    approved: bool = False  # a person allowed such a file; a search leaves them out even then
    path: str | None = None  # that file, from the root with all links resolved; None is any

    def hides(self, path: str) -> bool:
        """Whether the file `path`, written from the root, may hold secrets."""
        secret, excepted = _expressions(self.globs)
        plain = _COPY.sub("", path) if path.endswith(("~", "#")) else path
        names = f"/{plain.casefold()}/"
        return secret.search(names) is not None and not excepted.search(names)

    def refuses(self, relative: str, given: str) -> bool:
        """Return whether `relative` is refused; `given` is the link that led there, if any."""
        allowed = self.approved and self.path in (None, relative)
        return not allowed and any(map(self.hides, {relative, given}))


OPEN = Guard()  # the guard of a call that may read everything, as a person's own may


@lru_cache(maxsize=8)
def for_root(globs: tuple[str, ...], root: tuple[str, ...]) -> tuple[str, ...]:
    """Return `globs`, and those that they become below the directory with the names `root`.

    For example, from the root on, `.aws/credentials` becomes `/credentials` if the root is
    `~/.aws`, and `.ssh/` becomes `/`, all files, if it is `~/.ssh/a`.
    """
    anchored, folded = list[str](), [name.casefold() for name in root]
    for glob in globs:
        names, end = glob.casefold().rstrip("/").split("/"), "/" * glob.endswith("/")
        for at in range(len(folded)):
            # The last names of the root can be the first ones of the glob. A directory with all
            # below it can be the root, or any directory above.
            rest = names[len(folded) - at :]
            if (rest or end) and all(map(fnmatchcase, folded[at:], names)):
                anchored.append("/" + "/".join(rest) + (end if rest else ""))
    return (*globs, *anchored)


@lru_cache(maxsize=8)
def _expressions(globs: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    excepted = [glob[1:] for glob in globs if glob.startswith("!")]
    secret = [glob for glob in globs if not glob.startswith("!")]
    return _expression(secret, ""), _expression(excepted, r"\Z")


def _expression(globs: Iterable[str], end: str) -> re.Pattern[str]:
    kinds = {"*": STAR, "?": ANY}
    each = [
        r"(?<=\A/)" * glob.startswith("/")
        + regex([kinds.get(c) or literal(c) for c in glob.casefold().strip("/")])
        + ("[^/]" if glob == "/" else "/[^/]" if glob.endswith("/") else "/")
        for glob in globs
    ]
    # Globs share the star or the dot that they begin with: each star looks through the whole name,
    # and a name without a dot is compared with few of them.
    for start in (STAR.regex, r"\."):
        rests = [one.removeprefix(start) for one in each if one.startswith(start)]
        each = [one for one in each if not one.startswith(start)]
        each += [f"{start}(?:{'|'.join(rests)})"] * bool(rests)
    # Each is tried at a slash only, and no star passes the next one: the time is linear.
    return re.compile(f"/(?:{'|'.join(each) or '(?!)'}){end}")
