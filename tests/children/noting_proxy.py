"""A real agent's two streams, passed on line by line and noted beside its tree as ``noting_agent.py`` notes its own.

What is heard is noted before the agent has it, what is said after its last byte went. The agent is a child here; when
it goes, this goes in the same way. Standard library only, started with ``-I``: ``BINARY`` stands before this text.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

BINARY = globals().get("BINARY", "")
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def note(name: str, data: bytes) -> None:
    with Path("..", name).open("ab", buffering=0) as file:
        file.write(data)


def hear(agent_stdin: IO[bytes]) -> None:
    try:
        for line in iter(sys.stdin.buffer.readline, b""):
            note("heard", json.dumps({"pid": os.getpid(), "line": line.decode()}).encode() + b"\n")
            agent_stdin.write(line)
            agent_stdin.flush()
        agent_stdin.close()
    except (OSError, ValueError):
        pass  # it reads no more


def say(agent_stdout: IO[bytes]) -> None:
    for line in iter(agent_stdout.readline, b""):
        left = memoryview(line)
        try:
            while left:
                left = left[os.write(1, left) :]
        except OSError:
            agent_stdout.close()  # nobody reads it, and the agent is to learn that as it would without this
            return
        note("said", line)


def main() -> None:
    if sys.argv[1:] == ["--version"]:
        os.execv(BINARY, [BINARY, "--version"])
    agent = subprocess.Popen([BINARY, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert agent.stdin is not None and agent.stdout is not None
    for one in FORWARDED:
        signal.signal(one, lambda number, _frame: agent.send_signal(number))
    threading.Thread(target=hear, args=(agent.stdin,), daemon=True).start()
    saying = threading.Thread(target=say, args=(agent.stdout,), daemon=True)
    saying.start()
    code = agent.wait()
    saying.join(1)
    if code < 0:
        if -code in FORWARDED:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
