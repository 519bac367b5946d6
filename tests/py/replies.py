"""What tests ask of any reply."""

from backstaff.server import Reply


def code(reply: Reply) -> str | None:
    """The code of the error of `reply`, whose text tells its message; None if all went well."""
    if reply.error is None:
        assert reply.ok, reply.text
        return None
    assert not reply.ok
    assert reply.text == f"Error: {reply.error['message']}"
    return str(reply.error["code"])
