"""Checks that hold for any reply."""

from backstaff.server import Reply


def code(reply: Reply) -> str | None:
    """Return the code of the error of `reply`, whose text has its message; None if ok."""
    if reply.error is None:
        assert reply.ok, reply.text
        return None
    assert not reply.ok
    assert reply.text == f"Error: {reply.error['message']}"
    return str(reply.error["code"])
