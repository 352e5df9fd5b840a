"""A program on a terminal, as its driver reads it: recorded streams cut anywhere, pages drawn over, hostile bytes.

A stream here is a list of what the keeper's spool would have: output, silence, the first byte of a write.
"""

import random
from collections.abc import Sequence

import pytest

from coordinator.drivers.base import (
    AgentEvent,
    ControlAcked,
    Notice,
    Reply,
    ScreenWaits,
    SessionReady,
    Start,
    TerminalDriver,
    TextBlock,
    TextDelta,
    TurnAccepted,
    TurnResult,
)
from coordinator.drivers.pty import BLOCK, PtyDriver
from coordinator.drivers.terminal_echo import without_echo
from coordinator.drivers.terminal_page import Page
from coordinator.redaction import MARK
from store.vocab import TurnId, TurnResultKind

QUIET = "quiet"
Step = bytes | str
"""Output, ``quiet``, or the id of a write."""


def made(prompt: str = r"\$ ", quit: str = "exit") -> PtyDriver:
    driver = PtyDriver("i")
    driver.argv(Start(program="/bin/sh", session="", prompt=prompt, quit=quit))
    return driver


def play(driver: PtyDriver, steps: Sequence[Step], cut: random.Random | None = None) -> list[AgentEvent]:
    out: list[AgentEvent] = []
    for step in steps:
        if isinstance(step, bytes):
            while cut is not None and len(step) > 1:
                at = cut.randint(1, min(len(step) - 1, 9))
                out += driver.feed(step[:at])
                step = step[at:]
            out += driver.feed(step)
        elif step == QUIET:
            out += driver.quiet()
        else:
            driver.sending(step)
    return out


def kept(events: Sequence[AgentEvent]) -> list[AgentEvent]:
    return [event for event in events if not isinstance(event, TextDelta)]


def said(events: Sequence[AgentEvent]) -> str:
    return "\n".join(event.text.strip("`\n") for event in events if isinstance(event, TextBlock))


SHELL: tuple[Step, ...] = (
    b"welcome\r\n\x1b]0;a title\x07\x1b[?2004h$ ",
    QUIET,
    "t1",
    b"echo h\xc3\xa9llo\r\n\x1b[?2004l\r",
    b"h\xc3\xa9llo\r\n\x1b[?2004h$ ",
    QUIET,
    b"\r\n[1]+  Done    sleep 1\r\n$ ",
    QUIET,
    "t2",
    b"./build\r\n",
    b"\r 10%\r 55%\r\x1b[32m100%\x1b[m\x1b[K\r\n",
    QUIET,  # silent, and no prompt: it works on
    b"\x1b[1mdone \xe2\x9c\x93\x1b[0m\r\n$ ",
    QUIET,
)


def shell() -> PtyDriver:
    driver = made()
    driver.turn(TurnId("t1"), "echo héllo")
    driver.turn(TurnId("t2"), "./build")
    return driver


def test_two_turns_of_a_shell() -> None:
    driver = shell()
    assert isinstance(driver, TerminalDriver)
    assert kept(play(driver, SHELL)) == [
        Notice(text="welcome"),
        SessionReady(),
        TurnAccepted(turn=TurnId("t1")),
        TextBlock(block="t1-0", text="```\nhéllo\n```"),
        TurnResult(turns=(TurnId("t1"),), kind=TurnResultKind.SUCCESS, subtype="prompt", cumulative=None),
        Notice(text="[1]+  Done    sleep 1"),
        TurnAccepted(turn=TurnId("t2")),
        TextBlock(block="t2-0", text="```\n100%\ndone ✓\n```"),
        TurnResult(turns=(TurnId("t2"),), kind=TurnResultKind.SUCCESS, subtype="prompt", cumulative=None),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_cuts_and_snapshots_change_nothing(seed: int) -> None:
    """However a read cuts the bytes, and wherever a console takes over, the same comes out."""
    chance = random.Random(seed)
    assert kept(play(shell(), SHELL, chance)) == kept(play(shell(), SHELL))
    split = chance.randrange(len(SHELL))
    first = shell()
    before = play(first, SHELL[:split], chance)
    later = shell()
    later.restore(first.snapshot())
    assert kept([*before, *play(later, SHELL[split:], chance)]) == kept(play(shell(), SHELL))


def test_what_streams_is_what_is_kept() -> None:
    events = play(shell(), SHELL)
    pieces: dict[str, str] = {}
    for event in events:
        if isinstance(event, TextDelta):
            pieces[event.block] = pieces.get(event.block, "") + event.text
    blocks = {event.block: event.text for event in events if isinstance(event, TextBlock)}
    assert {block: f"{text}```" for block, text in pieces.items()} == blocks


def test_a_message_of_several_lines_is_a_paste_where_pastes_are_marked() -> None:
    driver = made()
    typed = driver.turn(TurnId("t1"), "one\r\ntwo\x1b[201~\x03\n")
    assert typed == b"one\ntwo[201~"  # nothing in it is a key
    assert driver.addressed(typed) == b"one\rtwo[201~\r"
    assert driver.addressed(b"a\tb") == b"a    b\r"
    play(driver, [b"\x1b[?2004h$ ", QUIET])
    assert driver.turn(TurnId("t1"), "one\r\ntwo\x1b[201~\x03\n") == typed  # the same bytes whenever it is asked
    assert driver.addressed(typed) == b"\x1b[200~one\rtwo[201~\x1b[201~\r"
    assert driver.addressed(b"one") == b"one\r"
    steps: list[Step] = ["t1", b"one\r\ntwo[201~\r\nout\r\none\r\n$ ", QUIET]
    assert said(play(driver, steps)) == "out\none"


def test_lines_that_are_typed_one_by_one_leave_only_what_they_brought() -> None:
    driver = made(prompt=r"^(?:>>>|\.\.\.) ")
    play(driver, [b">>> ", QUIET])
    assert driver.turn(TurnId("t"), "x = 1\nfor i in range(2):\n    print(i)") == (
        b"x = 1\nfor i in range(2):\n    print(i)\n"
    )
    echo = b"x = 1\r\n>>> for i in range(2):\r\n...     print(i)\r\n... \r\n0\r\n1\r\n>>> "
    assert said(play(driver, ["t", echo, QUIET])) == "0\n1"


def test_an_interrupt_is_heard_when_the_prompt_is_back() -> None:
    driver = made()
    driver.turn(TurnId("t"), "sleep 100")
    play(driver, [b"$ ", QUIET, "t", b"sleep 100\r\n"])
    assert driver.farewell() == b"\x03\x15exit\r"
    write = driver.interrupt()
    assert write.data == b"\x03"
    assert play(driver, [write.id, b"^C\r\n", QUIET]) == [TextDelta(block="t-0", text="```\n^C\n")]
    assert kept(play(driver, [b"$ ", QUIET])) == [
        TextBlock(block="t-0", text="```\n^C\n```"),
        ControlAcked(id=write.id, ok=True),
        TurnResult(turns=(TurnId("t"),), kind=TurnResultKind.INTERRUPTED, subtype="prompt", cumulative=None),
    ]
    assert driver.farewell() == b"exit\r"
    assert made(quit="").farewell() == b"\x04"


def test_a_turn_that_was_not_sent_is_not_ended_by_an_old_prompt() -> None:
    """A console that takes over knows the turn before the bytes of the time before it come again."""
    driver = made()
    play(driver, [b"$ ", QUIET])
    driver.turn(TurnId("t"), "ls")
    assert play(driver, [b"\r\nsomebody logged in\r\n$ ", QUIET]) == [Notice(text="somebody logged in")]
    assert play(driver, ["t", QUIET]) == []  # nothing has come back yet: the prompt is the old one
    assert play(driver, [b"ls", QUIET]) == [TurnAccepted(turn=TurnId("t"))]  # half an echo is no end
    assert isinstance(play(driver, [b"\r\n$ ", QUIET])[-1], TurnResult)


def test_a_question_in_a_turn_is_told_once_and_taken_back_when_it_goes_on() -> None:
    driver = made()
    driver.turn(TurnId("t"), "rm -i x")
    play(driver, [b"$ ", QUIET, "t", b"rm -i x\r\n"])
    assert play(driver, [b"reading [45%]", QUIET]) == [], "that is no question"
    assert play(driver, [b"\r\nremove file 'x'? ", QUIET, QUIET])[-1:] == [ScreenWaits(line="remove file 'x'?")]
    assert kept(play(driver, [b"y\r\n"])) == [ScreenWaits(line="")]
    assert isinstance(play(driver, [b"$ ", QUIET])[-1], TurnResult)


def test_without_a_prompt_silence_tells() -> None:
    driver = made(prompt="")
    assert play(driver, [QUIET]) == [SessionReady()]
    driver.turn(TurnId("t"), "hello")
    events = kept(play(driver, ["t", b"hello\r\nHELLO\r\n", QUIET]))
    assert said(events) == "HELLO"
    assert isinstance(events[-1], TurnResult) and events[-1].subtype == "quiet"


def test_the_page_is_read_as_a_person_would() -> None:
    """Wrapped, edited, drawn over, wiped, and what an editor's screen showed."""

    def lines(data: bytes, rows: int = 5, columns: int = 10) -> list[str]:
        page = Page()
        page.resize(rows, columns)
        page.feed(data)
        return [*page.take_left(), *page.standing(cursor_too=True)]

    assert lines(b"0123456789abcdef\r\nx") == ["0123456789abcdef", "x"]
    assert lines(b"0123456789 \rabc") == ["0123456789abc"]  # how a line editor wraps
    assert lines(b"".join(b"%d\r\n" % n for n in range(9))) == [*map(str, range(9)), ""][: 9 + 1]
    assert lines(b"one\r\ntwo\r\n\x1b[2A\x1b[KONE\x1b[2B\rthree") == ["ONE", "two", "three"]
    assert lines(b"abc\x08\x08X") == ["aXc"]
    assert lines(b"abcd\x1b[3D\x1b[2P") == ["ad"] and lines(b"abcd\x1b[3D\x1b[2@") == ["a  bcd"]
    assert lines(b"kept\r\n\x1b[H\x1b[2Jnew")[-1] == "new" and "kept" in lines(b"kept\r\n\x1b[H\x1b[2Jnew")
    assert lines(b"a\r\n\x1b[?1049h\x1b[2Jeditor\x1b[?1049lb") == ["a", "b"]
    assert lines("世界世界世界".encode()) == ["世界世界世界"]
    assert lines(b"\x1b]52;c;c2VjcmV0\x1b\\seen\x1bP1$r q\x1b\\!") == ["seen!"]
    assert lines(b"a\tb") == ["a       b"]


def test_a_question_to_the_terminal_is_answered_once_each() -> None:
    driver = made()
    found = play(driver, [b"\r\nab\x1b[6n\x1b[c\x1b[>c"])
    assert found == [Reply(id="terminal-1", data=b"\x1b[2;3R\x1b[?62c", why="the terminal answers")]
    (flood,) = play(driver, [b"\x1b[5n" * 50_000])
    assert isinstance(flood, Reply) and flood.id == "terminal-2"
    assert 1 <= flood.data.count(b"\x1b[0n") <= 100, "what a file full of them brings is not typed"


def test_the_echo_of_a_text_with_secrets_is_found_in_lines_made_against_it() -> None:
    """Who takes over knows the text from the ledger; each mark stands for something, and no line takes long."""
    sent = f"a {MARK} b {MARK} c"
    assert without_echo(["$ a one b two c", "said"], [sent], None, first=False) == ["$ a one b two c", "said"]
    assert without_echo(["a one b two  c", "said"], [sent], None, first=True) == ["said"]
    assert without_echo(["> a one b two c"], [sent], None, first=False) == []
    assert without_echo(["a  b two c"], [sent], None, first=True) == ["a  b two c"]
    assert without_echo(["export X=key"], [f"export X={MARK}"], None, first=True) == []
    assert without_echo(["key"], [MARK], None, first=True) == []
    made_against = ["a b " * 8_000 + "c!", "a" * 30_000, " " * 30_000 + "!", "a" + " b" * 15_000]
    assert without_echo(made_against, [sent], None, first=True) == made_against
    assert without_echo(made_against, [f"{MARK} a {MARK}x"], None, first=True) == made_against


def test_output_without_end_is_kept_in_pieces_and_memory_is_bounded() -> None:
    driver = made()
    play(driver, [b"$ ", QUIET])
    driver.turn(TurnId("t"), "yes")
    play(driver, ["t", b"yes\r\n"])
    line = b"y" * 99 + b"\r\n"
    events = [event for _ in range(60) for event in driver.feed(line * 100)]
    blocks = [event for event in events if isinstance(event, TextBlock)]
    assert len(blocks) >= 10 and len(driver.snapshot()) < 4 * BLOCK
    events += play(driver, [b"$ ", QUIET])
    assert said(events).count("y" * 99) == 6000
    assert len({block.block for block in events if isinstance(block, TextBlock)}) == len(
        [block for block in events if isinstance(block, TextBlock)]
    )
    idle = made()
    play(idle, [b"$ ", QUIET])
    for _ in range(60):
        idle.feed(line * 100)
    assert len(idle.snapshot()) < 4 * BLOCK


@pytest.mark.parametrize("seed", range(8))
def test_nothing_that_is_printed_breaks_it(seed: int) -> None:
    chance = random.Random(seed)
    pieces = [b"\x1b[", b"\x1b]", b"\x1bP", b"\x9b", b"\xff", b"\r", b"\n", b"\x08", b"999999999;", b"A", b"J", b"H"]
    pieces += [b"L", b"M", b"P", b"@", b"K", b"?1049h", b"?1049l", b"\x1bc", b"\x1b8", b"\x1bM", b"text", b"\xe4\xb8"]
    driver = made(prompt="")
    driver.turn(TurnId("t"), "x")
    for n in range(3000):
        driver.feed(b"".join(chance.choices(pieces, k=chance.randint(1, 6))))
        if n % 50 == 0:
            driver.resized(chance.randint(0, 50), chance.randint(0, 200))
            driver.quiet()
            driver.sending("t" if chance.random() < 0.5 else "i-interrupt-1")
            driver.turn(TurnId("t"), "x")
        if n % 500 == 0:
            again = made(prompt="")
            again.restore(driver.snapshot())
            driver = again
            driver.screen()
    driver.feed_end()
