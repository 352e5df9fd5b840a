"""A program's own screen in the console: drawn as a terminal would, typed into, and left again."""

import random

from msgspec.structs import replace

from app.console.screens.livescreen import LiveSheet
from app.console.views.ink import plain
from app.console.views.livescreen import LiveScreen
from app.console.views.typedkeys import bytes_of, bytes_of_paste
from coordinator.api import Interrupt, ResizeTerminal, SendKeys, Terminal
from coordinator.terminals import KEPT, Resized
from tests.console.driving import alone
from tests.console.opened import console
from tests.fakes.backend import FakeBackend, make_session, make_snapshot
from tests.waiting import eventually

SIZE = Resized(rows=4, columns=20)


def drawn(*pieces: bytes | Resized, cursor: bool = False) -> LiveScreen:
    screen = LiveScreen()
    for piece in (SIZE, *pieces):
        screen.feed(piece)
    return screen


def text(screen: LiveScreen) -> list[str]:
    return [plain(row).rstrip() for row in screen.rows(cursor=False)]


def test_rows_are_in_the_consoles_own_inks() -> None:
    screen = drawn(b"a \x1b[1;31mred\x1b[m \x1b[38;2;20;200;30mgreen\x1b[m \x1b[7mmarked\x1b[m\r\n> ")
    row = screen.rows(cursor=False)[0]
    assert [(span.text, span.ink) for span in row if span.text.strip()] == [
        ("a ", "text"),
        ("red", "red strong"),
        ("green", "green"),
        ("marked", "text reverse"),
    ]
    assert [span.ink for span in screen.rows(cursor=True)[1]] == ["text", "text reverse"]


def test_an_editor_has_a_page_of_its_own_and_the_first_one_comes_back() -> None:
    screen = drawn(b"$ vi\r\n\x1b[?1049h\x1b[2J\x1b[Hediting")
    assert text(screen) == ["editing", "", "", ""]
    screen.feed(b"\x1b[?1049l")
    assert text(screen) == ["$ vi", "", "", ""]


def test_nothing_of_a_program_is_obeyed_and_nothing_breaks_the_screen() -> None:
    screen = drawn("\x1b]0;title\x07\x1b]52;c;aGk=\x07safe\u202e \u200bx".encode())
    assert all(span.text.isprintable() for row in screen.rows(cursor=True) for span in row)
    chance = random.Random(3)
    pieces = [
        b"\x1b[",
        b"?",
        b"1049",
        b"h",
        b"l",
        b";5",
        b"m",
        b"J",
        b"K",
        b"r",
        b"\x1b#8",
        b"\x1b(0",
        b"n",
        b"c",
        b"q",
    ]
    pieces += [
        b"\xff",
        b"\xe4\xb8\x96",
        b"text",
        b"\r\n",
        b"\x9b",
        b"$p",
        b":2::3",
        b">",
        b"S",
        b"\x1b[?6c",
        b"\x1b[99999A",
    ]
    for _ in range(2000):
        screen.feed(b"".join(chance.choices(pieces, k=4)))
        if chance.random() < 0.02:
            screen.feed(Resized(rows=chance.randint(0, 9), columns=chance.randint(0, 40)))
            screen.rows(cursor=True)
    screen.begin()
    screen.feed(b"well")
    assert text(screen)[0] == "well"


def test_what_is_kept_of_a_terminal_is_bounded_and_read_once() -> None:
    terminal = Terminal()
    terminal.put(b"a")
    terminal.put(SIZE)
    first = terminal.since(0)
    assert (first.pieces, first.skipped) == ((b"a", SIZE), False)
    assert terminal.since(first.upto).pieces == ()
    for _ in range(5):
        terminal.put(b"x" * (KEPT // 2))
    later = terminal.since(first.upto)
    assert later.skipped and sum(len(piece) for piece in later.pieces if isinstance(piece, bytes)) <= KEPT


def test_keys_are_what_a_terminal_sends() -> None:
    def sent(key: str, character: str | None = None, cursor_keys: bool = False) -> bytes:
        return bytes_of(key, character, cursor_keys=cursor_keys)

    assert [sent("a", "a"), sent("A", "A"), sent("space", " "), sent("é", "é")] == [b"a", b"A", b" ", "é".encode()]
    assert [sent("enter", "\r"), sent("tab", "\t"), sent("backspace", "\x7f")] == [b"\r", b"\t", b"\x7f"]
    assert [sent("up"), sent("up", cursor_keys=True), sent("ctrl+left")] == [b"\x1b[A", b"\x1bOA", b"\x1b[1;5D"]
    assert [sent("ctrl+d"), sent("ctrl+z"), sent("alt+b"), sent("f5")] == [b"\x04", b"\x1a", b"\x1bb", b"\x1b[15~"]
    assert sent("unheard_of") == b""
    assert bytes_of_paste("a\nb\x1b[201~\x03", marked=True) == b"\x1b[200~a\rb[201~\x1b[201~"
    assert bytes_of_paste("a\nb", marked=False) == b"a\rb"


async def test_it_is_looked_at_typed_into_and_left() -> None:
    session = replace(make_session(), terminal=True, turns=(), in_flight=None)
    terminal = Terminal()
    terminal.put(b"bash-5.2$ ")
    async with console(make_snapshot(session)) as (app, pilot, backend):
        backend.terminals[session.run] = terminal
        await alone(app, pilot, "escape")
        assert "its screen" in plain(app.drive.hints.rows[0])
        await alone(app, pilot, "T")
        sheet = app.screen
        assert isinstance(sheet, LiveSheet)
        fitted = await eventually(lambda: backend.given(ResizeTerminal))
        assert fitted[0].rows == sheet.face.size.height > 20 and fitted[0].columns == sheet.face.size.width
        await eventually(lambda: plain(sheet.face.rows[0]).startswith("bash-5.2$"))
        await alone(app, pilot, "x")
        assert keys(backend) == b"", "it is only looked at"
        await alone(app, pilot, "i")
        for key in ("l", "s", "enter", "tab", "q"):
            await alone(app, pilot, key)
        await alone(app, pilot, "ctrl+c")
        await eventually(lambda: keys(backend) == b"ls\r\tq\x03")
        assert not backend.given(Interrupt), "no turn runs: the key is the program's"
        terminal.put(b"ls\r\nfile\r\n")
        await eventually(lambda: plain(sheet.face.rows[1]).startswith("file"))
        await alone(app, pilot, "escape")
        assert app.screen is sheet
        await alone(app, pilot, "e")
        await eventually(lambda: keys(backend).endswith(b"\x1b"))
        await alone(app, pilot, "escape")
        assert app.screen is app.drive


async def test_an_agent_without_a_screen_has_none_to_look_at() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _):
        await alone(app, pilot, "escape")
        assert "its screen" not in plain(app.drive.hints.rows[0])
        await alone(app, pilot, "T")
        assert app.screen is app.drive and "no screen of its own" in app.drive.said.text


def keys(backend: FakeBackend) -> bytes:
    return b"".join(command.data for command in backend.given(SendKeys))
