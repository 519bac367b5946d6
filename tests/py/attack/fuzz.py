"""Fuzzes the wire with atheris, guided by the code that each input reaches: `dev/fuzz`.

`python fuzz.py CORPUS OPTIONS-OF-LIBFUZZER`. If a condition of `tests.py.attack.wire_target` fails,
it ends with a traceback and keeps the input.
"""

import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / ".cache" / "atheris")]

import atheris  # noqa: E402  # found by the line above

with atheris.instrument_imports(include=["backstaff", "sexpdata"]):
    from tests.py.attack.wire_target import fed
    from tests.py.epc import frame
    from tests.py.servers import server_at

SEEDS = (
    b'F(call 1 list_directory ((:path "." :show_hidden t) (:json t)))',
    b'F(call 2 workspace/tree (((path . "d") (exclude . ("**/x")))))\xfe(call 3 ping ())',
    b'F(call 4 forge/list_directory ("{\\"path\\":\\".\\"}"))\xfe(call 5 cancel (4))',
    b"F(call 6 hello ((:escapes t)))\xfe(methods 7)\xfe(return 8 nil)",
    b"S000010(call 1 ping ())\n0000",
)


def main() -> None:
    """Fuzz with the options of the command line."""
    for number, seed in enumerate(SEEDS):
        (Path(sys.argv[1]) / f"seed-{number}").write_bytes(seed)
    with tempfile.TemporaryDirectory() as root:
        (Path(root) / "d").mkdir()
        server = server_at(root)

        def one(data: bytes) -> None:
            if data[:1] == b"S":
                fed(server, [data[1:]])
            else:
                fed(server, [frame(body) for body in data[1:].split(b"\xfe")])

        atheris.Setup(sys.argv, one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
