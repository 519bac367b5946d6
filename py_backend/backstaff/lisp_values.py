"""The values of Lisp that Python has no type for."""

from dataclasses import dataclass
from enum import Enum


class Nil(Enum):
    """Lisp's nil. It means false, an empty list or "not given": the parameter's type decides."""

    NIL = "nil"


NIL = Nil.NIL


@dataclass(frozen=True, slots=True)
class Symbol:
    """A Lisp symbol or keyword by its name. A keyword keeps its colon: `Symbol(":root")`."""

    name: str
