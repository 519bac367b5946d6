"""Children of the test's own process: for limits and for rights that must not touch the suite."""

import os
import pickle
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import Never, TypeVar

import pytest

NOBODY = 65534
DEADLINE = 60

Value = TypeVar("Value")


def in_child(function: Callable[[], Value]) -> Value:
    """What FUNCTION returns in a forked child; what it raises fails the test."""
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


as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")


def as_nobody(function: Callable[[], Value]) -> Value:
    """What FUNCTION returns without privileges: as another user if this one is root."""

    def unprivileged() -> Value:
        drop_privileges()
        return function()

    return in_child(unprivileged)


def drop_privileges() -> None:
    """Become nobody, if that is possible and needed."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def fork() -> int:
    """Fork; that idle worker threads of other tests stay behind is no harm."""
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
