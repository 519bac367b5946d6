"""Children of the test's own process, for limits and rights that must not affect the suite."""

import ctypes
import os
import pickle
import signal
import struct
import traceback
import warnings
from collections.abc import Callable
from typing import Never, TypeVar

import pytest

NOBODY = 65534
DEADLINE = 60
"""Maximum number of seconds that a test waits, also on a machine that is loaded."""
NO_NEW_PRIVILEGES, CAPABILITY_VERSION = 38, 0x20080522
"""PR_SET_NO_NEW_PRIVS of prctl(2), without which a child of root would have all again; and the
third version of capset(2)."""

Value = TypeVar("Value")


def in_child(function: Callable[[], Value]) -> Value:
    """Return the result of `function` in a forked child; an exception fails the test."""
    reading, writing = os.pipe()
    child = fork()
    if not child:
        _answer(function, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        pytest.fail(f"the child ended without an answer, wait status {status:#x}")
    failed, value = pickle.loads(answer)  # noqa: S301  # our own child wrote it
    if failed:
        pytest.fail(f"in the child:\n{value}")
    result: Value = value
    return result


as_root = pytest.mark.skipif(os.getuid() != 0, reason="needs root")
"""Marks tests in which a file is given away, or another user runs a process: only root can do that.

CI runs as root.
"""


def unprivileged(function: Callable[[], Value]) -> Value:
    """Return the result of `function` without root's rights, so that the modes of files count."""

    def bound_by_modes() -> Value:
        give_up_privileges()
        return function()

    return in_child(bound_by_modes)


def as_nobody(function: Callable[[], Value]) -> Value:
    """Return the result of `function`, run as another user than root.

    It must import nothing: that user may not enter a checkout in the home of root.
    """

    def as_another() -> Value:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return function()

    return in_child(as_another)


def give_up_privileges() -> None:
    """Become an owner of files with no rights beyond their modes; children have none either.

    Root gives up all capabilities. To become another user would be simpler, but other users cannot
    enter every checkout.
    """
    if os.getuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        header, none = struct.pack("Ii", CAPABILITY_VERSION, 0), bytes(24)
        if libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.capset(header, none):
            raise OSError(ctypes.get_errno(), "root cannot give up its capabilities")


def fork() -> int:
    """Fork. The idle worker threads of other tests stay behind, which does no harm."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _answer(function: Callable[[], object], writing: int) -> Never:
    signal.alarm(DEADLINE)
    try:
        answer = (False, function())
    except BaseException:  # noqa: BLE001  # the parent tells it
        answer = (True, traceback.format_exc())
    with os.fdopen(writing, "wb") as answers:
        pickle.dump(answer, answers)
    os._exit(0)
