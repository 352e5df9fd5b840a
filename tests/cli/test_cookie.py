"""The cookie of a hold is in one file, for its user alone, and nowhere else: not in what any process was started with,
not in what is kept, logged or printed."""

import signal
import stat
from pathlib import Path

from coordinator.custody.client import read_cookie
from coordinator.supervisor import kin
from coordinator.supervisor.kernel import kernel
from tests.cli.running import footplate
from tests.cli.test_elsewhere import held
from tests.cli.test_from_inside import allow, rows, tool


def started_with(secret: bytes) -> list[str]:
    """Every process of this machine whose arguments or environment have it."""
    found = []
    for pid in kernel.all_pids():
        for file in ("cmdline", "environ"):
            if secret in kernel.read(f"/proc/{pid}/{file}", 8 << 20):
                found.append(f"{file} of {pid}: {kernel.name(pid)}")
    return found


def test_the_cookie_is_in_no_argument_environment_ledger_log_or_answer(tmp_path: Path) -> None:
    with held(tmp_path, tool(tmp_path, ("ls",), "ls", cleared=False)) as run:
        allow(run, tmp_path)
        hold, _ = rows(run.home)
        folder = run.home / "spool" / hold.id
        cookie = (read_cookie(folder) or "").encode()
        assert len(cookie) >= 32
        tree = [hold.keeper_pid, hold.supervisor_pid, hold.agent_pid, run.process.pid]
        assert all(pid and kernel.name(pid) for pid in tree)
        assert {one.pid for one in kin.descendants(hold.agent_pid or 0)}, "a tool of the agent's runs as well"
        assert started_with(cookie) == []
        # What can be found is found: the nonce is where the cookie must not be.
        assert started_with(hold.nonce.encode()) != []
        answers = "".join(
            said.out + said.err
            for said in (
                footplate(run.home, *words.split())
                for words in ("ls --json", "show 1 --json", "show 1 --transcript", "ps --json", "config", "doctor")
            )
        )
        assert cookie.decode() not in answers
        run.process.send_signal(signal.SIGKILL)  # what a crash leaves behind is looked at too
        run.process.wait(10)
        stopped = footplate(run.home, "stop", "1", "--json")
        assert stopped.code == 0 and cookie.decode() not in stopped.out + stopped.err
        swept = footplate(run.home, "sweep", "--json")
        assert swept.code == 0 and cookie.decode() not in swept.out + swept.err
        files = [one for one in tmp_path.rglob("*") if one.is_file() and not one.is_symlink()]
        names = {one.name for one in files}
        assert {"ledger.db", "spool", "cookie"} <= names, names
        assert [one for one in files if cookie in one.read_bytes()] == [folder / "cookie"]
        assert stat.S_IMODE((folder / "cookie").stat().st_mode) == 0o600
