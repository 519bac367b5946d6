"""A language server that answers requests for definitions in the way of its first argument.

`prompt` answers at once, `late` after a second, `never` not at all, `ends` ends instead. It answers
with the places in the environment variable PLACES, as JSON. It publishes one error in each opened
document. `deaf` answers at once, but after a document is opened it reads nothing until it gets
SIGUSR1.
"""

import json
import os
import signal
import sys
import threading
from typing import Any

WAY = sys.argv[1]
PLACES = json.loads(os.environ.get("PLACES", "[]"))


def read() -> dict[str, Any] | None:
    """Return the next message, or None at the end."""
    length = 0
    while (line := sys.stdin.buffer.readline()) not in (b"", b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    message: dict[str, Any] | None = json.loads(sys.stdin.buffer.read(length)) if line else None
    return message


def send(**fields: object) -> None:
    """Send a message with `fields`."""
    body = json.dumps({"jsonrpc": "2.0", **fields}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def find(uid: object) -> None:
    """Answer the request `uid` with places."""
    if WAY in {"prompt", "deaf"}:
        send(id=uid, result=PLACES)
    elif WAY == "late":
        threading.Timer(1, send, kwargs={"id": uid, "result": PLACES}).start()
    elif WAY == "ends":
        os._exit(1)


def publish(uri: str) -> None:
    """Publish an error on the first line of the document `uri`."""
    start, end = ({"line": 0, "character": at} for at in (0, 3))
    problem = {"range": {"start": start, "end": end}, "severity": 1, "message": "made up"}
    send(
        method="textDocument/publishDiagnostics",
        params={"uri": uri, "diagnostics": [problem]},
    )


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
while (message := read()) is not None:
    match message.get("method"):
        case "initialize":
            able = {"textDocumentSync": 2, "definitionProvider": True, "referencesProvider": True}
            send(id=message["id"], result={"capabilities": able})
        case "textDocument/definition" | "textDocument/references":
            find(message["id"])
        case "textDocument/didOpen":
            publish(message["params"]["textDocument"]["uri"])
            if WAY == "deaf":
                signal.sigwait({signal.SIGUSR1})
        case "exit":
            break
        case _ if "id" in message:
            send(id=message["id"], result=None)
os._exit(0)
