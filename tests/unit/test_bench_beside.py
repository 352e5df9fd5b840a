"""The rows of README are made by the script: counts where rounds differ, medians, and what was not reached is said."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import side_by_side
from tests.bench.beside_table import table
from tests.bench.peers import PEERS, version

PROSE = "prose typed as it asks"


def run(*found: dict[str, Any], **peers: str) -> dict[str, Any]:
    return {
        "date": "2026-11-30T09:00:00+00:00",
        "P": 20.0,
        "commit": "abc1234",
        "machine": {"cores": 2},
        "peers": {
            name: {"title": name.title(), "version": told, "drives": ""}
            for name, told in (peers or {"one": "1.2"}).items()
        },
        "found": [{"peer": "one", "round": 0, "load": 1.0, **one} for one in found],
    }


def row(lines: list[str], peer: str) -> list[str]:
    (found,) = [line for line in lines if line.startswith(f"| {peer} ")]
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_rounds_that_agree_are_one_word_and_rounds_that_differ_are_counted() -> None:
    same = [{"measure": "hostile", "escapes let through": "0 of 8"}] * 3
    asks = {"measure": "prose", PROSE: "nothing ran, it still asks"}
    ran = {"measure": "prose", PROSE: "the Enter let it run"}
    cells = row(table([run(*same, asks, ran, asks)]), "One")
    assert cells[:3] == ["One 1.2", "3", "0 of 8"]
    assert cells[3] == "nothing ran, it still asks (2 of 3); the Enter let it run (1 of 3)"
    assert set(cells[4:]) == {"–"}, "what was not measured is not told"


def test_a_round_that_failed_is_counted_as_such_and_never_left_out() -> None:
    lines = table([run({"measure": "hostile", "escapes let through": "8 of 8"}, {"measure": "hostile", "failed": "x"})])
    assert row(lines, "One")[2] == "8 of 8 (1 of 2); failed (1 of 2)"
    assert lines[1] == "1 of 2 failed"


def test_times_are_medians_of_the_rounds_that_came_to_an_end() -> None:
    times = [{"measure": "burst-2000", "2,000 chunks shown": value} for value in (1300.0, 900.0, 1000.0)]
    late = {"measure": "burst-20000", "20,000 chunks shown": None, "not within": 60.0}
    rest = {"measure": "idle", "memory at rest": 58.26, "CPU at rest": 0.04}
    broken = {"measure": "keys", "failed": "no first turn"}
    cells = row(table([run(*times, late, rest, broken)]), "One")
    assert cells[1] == "1 to 3"
    assert cells[3] == "58" and cells[5] == "0.0"
    assert cells[6:8] == ["1,000", "not within 60 s"]
    assert cells[-1] == "failed"
    half = [{"measure": "burst-2000", "2,000 chunks shown": 900.0}, {"measure": "burst-2000", "failed": "it has ended"}]
    assert row(table([run(*half)]), "One")[6] == "900 (1 of 2)"


def test_a_table_names_its_runs_and_leaves_out_peers_and_parts_that_were_not_measured() -> None:
    only = run({"measure": "hostile", "escapes let through": "0 of 8"}, one="1.2", two="3")
    lines = table([only, run({"measure": "hostile", "escapes let through": "0 of 8", "load": 4.25})])
    assert lines[0].startswith("2026-11-30T09:00:00+00:00: hostile; 2 cores, load 1.0 to 1.0, Python starts in 20 ms")
    assert "load 4.2 to 4.2" in lines[1]
    assert row(lines, "One")[1] == "2"
    assert not any("Two" in line or "first frame" in line for line in lines)


def test_an_earlier_run_is_printed_without_measuring_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "run.json"
    told.write_text(json.dumps(run({"measure": "hostile", "escapes let through": "0 of 8"})))
    monkeypatch.setattr(sys, "argv", ["side_by_side", "--table", "--from", str(told)])
    monkeypatch.setattr(side_by_side, "measured", None)
    assert side_by_side.main() == 0
    assert "| One 1.2 | 1 | 0 of 8 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["hostil"], "no measure 'hostil'; there are first-frame,"),
        (["--peer", "nobody=x"], "no peer 'nobody'; there are footplate,"),
        (["--peer", "other"], "other needs its command: --peer 'other=COMMAND'"),
    ],
)
def test_a_wrong_word_is_named_with_those_that_there_are(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["side_by_side", *words])
    with pytest.raises(SystemExit):
        side_by_side.main()
    assert said in capsys.readouterr().err


def test_every_peer_that_is_driven_can_be_asked_and_answered_and_has_a_name() -> None:
    for peer in PEERS.values():
        if peer.ready:
            assert peer.title and peer.command and peer.begin and peer.send
            assert peer.allow and peer.allow[0][0], f"{peer.name}: a key would go before its question is drawn"


def test_the_version_of_a_python_package_is_that_of_the_environment_that_is_run(tmp_path: Path) -> None:
    (tmp_path / "lib" / "python3.12" / "site-packages" / "claudechic-0.4.26.dist-info").mkdir(parents=True)
    chic = PEERS["claudechic"]
    assert version(chic, (str(tmp_path / "bin" / "claudechic"),)) == "0.4.26"
    assert version(chic, (str(tmp_path / "elsewhere" / "bin" / "claudechic"),)) == ""
