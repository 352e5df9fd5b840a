"""The composer's help: what was said before, files and commands that complete, long texts, and the line of turns."""

import time

import pytest

from app.console.app import FootplateApp
from app.console.bundles import LONG, Bundles
from app.console.screens.choose import Choose
from app.console.views import completing
from app.console.views.completing import FileNames, Kind, asked, file_offers
from app.console.views.ink import plain
from coordinator.api import EditQueued, Interrupt, ListFiles, Propose, Rename, SaidOnce, Say, SetModel, StartRun
from store.refusal import Refusal
from store.vocab import Millis, RefusalReason, TurnId
from tests.console.driving import alone, burst, settled, typed
from tests.console.opened import console
from tests.fakes.backend import FakeBackend, ago, make_session, make_snapshot, queued
from tests.waiting import eventually

MINUTE = 60_000


def before(text: str, minutes: int, *, whole: bool = True) -> SaidOnce:
    size = len(text) if whole else 1_200_000
    return SaidOnce(
        turn=TurnId(f"old-{text[:8]}"), at=Millis(ago(minutes * MINUTE)), text=text, whole=whole, bytes=size
    )


def status(app: FootplateApp) -> str:
    return plain(app.drive.status.rows[0])


# ------------------------------------------------------------------------------------------------------------- history


async def test_history_is_of_the_repository_and_in_the_start_form_too() -> None:
    backend = FakeBackend(make_snapshot(make_session()))
    backend.said = (
        before("long ago", 900),
        before("yesterday", 700),
        before("Fix the flaky test in tests/checkout.", 600),
    )
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: len(app.drive.composer._history) == 5)
        for text in (
            "Run it twenty times to be sure.",
            "The second, and add a test for the first.",
            "Fix the flaky test in tests/checkout.",
            "yesterday",
            "long ago",
            "long ago",
        ):
            await alone(app, pilot, "up")
            assert app.drive.composer.text == text
        await alone(app, pilot, "ctrl+n")
        await eventually(lambda: app.drive.run_in_view is None)
        await alone(app, pilot, "up")
        assert app.drive.composer.text == "Run it twenty times to be sure."


async def test_an_edit_on_the_way_through_history_is_there_on_the_way_back() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _backend):
        await typed(app, pilot, "draft")
        await alone(app, pilot, "up")
        await typed(app, pilot, " Or thirty.")
        await alone(app, pilot, "up")
        await alone(app, pilot, "down")
        assert app.drive.composer.text == "Run it twenty times to be sure. Or thirty."
        await alone(app, pilot, "down")
        assert app.drive.composer.text == "draft"


async def test_searching_puts_the_text_here_and_sends_nothing() -> None:
    backend = FakeBackend(make_snapshot(make_session()))
    backend.said = (before("port the CLI\nto the new loop", 900), before("port the docs", 700), before("12", 600))
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: len(app.drive.composer._history) == 6)
        await typed(app, pilot, "half a thought")
        await alone(app, pilot, "ctrl+r")
        await eventually(lambda: isinstance(app.screen, Choose))
        await typed(app, pilot, "new port")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "port the CLI\nto the new loop")
        assert backend.given(Say) == []
        for _ in range(3):
            await alone(app, pilot, "down")
        while app.drive.composer._back:
            await alone(app, pilot, "down")
        assert app.drive.composer.text == "half a thought"


async def test_a_long_text_of_before_is_listed_with_its_size_and_read_when_chosen() -> None:
    backend = FakeBackend(make_snapshot(make_session()))
    old = before("a log of the whole night", 900, whole=False)
    backend.said = (old,)
    backend.said_whole[old.turn] = "a log of the whole night" + "." * 1_200_000
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await eventually(lambda: app.deeds.history._shown and app.deeds.history._shown[0] == old)
        assert old.text not in app.drive.composer._history
        await alone(app, pilot, "ctrl+r")
        await typed(app, pilot, "whole night")
        assert isinstance(app.screen, Choose)
        assert [row.beside for row in app.screen.shown_rows] == ["1.2 MB"]
        await alone(app, pilot, "enter")
        await eventually(lambda: len(app.drive.composer.text) > 1_200_000)
        await alone(app, pilot, "down")
        assert app.drive.composer.text == ""


# --------------------------------------------------------------------------------------------------------------- files

PATHS = ("app/main.py", "README.md", "docs/read me.md", "tests/test_main.py", "app/console/README.txt", "x/already.py")


@pytest.mark.parametrize(
    ("before_cursor", "typed_so_far"),
    [
        ("@ap", "ap"),
        ("look at @src/a", "src/a"),
        ("(@x", "x"),
        ('in @"read me', "read me"),
        ("mara@example", None),
        ("@a b", None),
        ("a@@b", None),
    ],
)
def test_which_word_asks_for_a_file(before_cursor: str, typed_so_far: str | None) -> None:
    found = asked(before_cursor, first_line=True)
    assert (found.typed if found else None) == typed_so_far
    assert found is None or found.kind is Kind.FILE


def test_names_come_before_paths_and_the_short_before_the_long() -> None:
    names = FileNames.of(PATHS)
    assert [one.shown for one in file_offers(names, "read")] == [
        "README.md", "docs/read me.md", "app/console/README.txt", "x/already.py",
    ]  # fmt: skip
    assert [one.shown for one in file_offers(names, "app/")] == ["app/main.py", "app/console/README.txt"]
    assert [one.put for one in file_offers(names, "read me")] == ['@"docs/read me.md" ']
    assert file_offers(names, "") == () == file_offers(names, "zzz")


def test_a_tree_of_fifty_thousand_files_is_no_wait() -> None:
    names = FileNames.of(tuple(f"src/package{n % 211}/module_{n}/file_{n}.py" for n in range(50_000)))
    for wanted in ("f", "src", "file_4999"):
        began = time.thread_time()
        found = file_offers(names, wanted)
        took = time.thread_time() - began
        assert took < 0.2, (wanted, took)
    assert len(found) == 11 and found[0].shown.endswith("file_4999.py")


async def test_a_file_is_offered_while_typing_and_tab_takes_it() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.files = PATHS
        await typed(app, pilot, "look at @mai")
        await eventually(lambda: app.drive.composer.offers)
        assert [one.run for one in backend.given(ListFiles)] == [12]
        assert "app/main.py" in plain(app.drive.offers.rows[0])
        assert "Tab takes app/main.py" in status(app)
        await alone(app, pilot, "down")
        await alone(app, pilot, "tab")
        assert app.drive.composer.text == "look at @tests/test_main.py "
        assert app.drive.offers.rows == ()
        await typed(app, pilot, "and @read m")
        assert app.drive.composer.offers == (), "a space ends the word"
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))


async def test_a_name_with_a_space_is_quoted_and_found_by_its_quote() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.files = PATHS
        await typed(app, pilot, '@"read me')
        await eventually(lambda: app.drive.composer.offers)
        assert backend.given(ListFiles)[0].run is None
        await alone(app, pilot, "tab")
        assert app.drive.composer.text == '@"docs/read me.md" '


async def test_escape_closes_the_list_first_and_then_leaves_the_text() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.files = PATHS
        await typed(app, pilot, "@mai")
        await eventually(lambda: app.drive.composer.offers)
        await alone(app, pilot, "escape")
        assert app.focused is app.drive.composer and app.drive.offers.rows == ()
        await typed(app, pilot, "n")
        assert app.drive.offers.rows == (), "closed for this word"
        await alone(app, pilot, "escape")
        assert app.focused is not app.drive.composer
        assert app.drive.composer.text == "@main"


async def test_typing_goes_on_while_files_are_listed() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.held_back.add(ListFiles)
        await typed(app, pilot, "@mai")
        await typed(app, pilot, "n and more")
        assert app.drive.composer.text == "@main and more"
        assert len(backend.given(ListFiles)) == 1
        backend.complete(Refusal(RefusalReason.GIT_FAILED, {}))
        await typed(app, pilot, " @x")
        assert app.drive.composer.offers == ()


async def test_what_was_put_here_offers_nothing() -> None:
    """Else ↑ would go through the list and no further back."""
    session = make_session()
    async with console(make_snapshot(session)) as (app, pilot, backend):
        backend.files = PATHS
        app.drive.composer.set_text("see @mai")
        await settled(pilot)
        assert app.drive.composer.offers == () and backend.given(ListFiles) == []


# ------------------------------------------------------------------------------------------------------------ commands


async def test_the_agents_commands_come_first_and_win_a_name() -> None:
    session = make_session(commands=(("rename", "Name the conversation"), ("compact", "Shorten it")))
    async with console(make_snapshot(session)) as (app, pilot, backend):
        await typed(app, pilot, "/")
        rows = [plain(row) for row in app.drive.offers.rows]
        assert "/rename" in rows[0] and "claude: Name the conversation" in rows[0] and "/compact" in rows[1]
        assert "Footplate" in rows[2]
        await typed(app, pilot, "rename x")
        assert status(app).startswith("will run /rename in claude")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert (backend.given(Say)[0].text, backend.given(Say)[0].literal) == ("/rename x", False)
        assert backend.given(Rename) == []


async def test_footplates_own_are_done_and_not_sent() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "/rename the race")
        assert status(app).startswith("Footplate's own: rename this session")
        await alone(app, pilot, "enter")
        await eventually(lambda: [one.title for one in backend.given(Rename)] == ["the race"])
        await eventually(lambda: app.drive.composer.text == "")
        await typed(app, pilot, "/model sonnet")
        await alone(app, pilot, "enter")
        await eventually(lambda: [one.model for one in backend.given(SetModel)] == ["sonnet"])
        await typed(app, pilot, "/interrupt")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Interrupt))
        assert backend.given(Say) == []


@pytest.mark.parametrize(
    "text", ["/etc/hosts is wrong", "/stop the server please", "/", "/nonesuch", "/stopp", "/rename a\nb"]
)
async def test_what_is_none_of_them_is_sent_as_text(text: str) -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        app.drive.composer.set_text(text)
        await settled(pilot)
        assert status(app) == "sent as text"
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert (backend.given(Say)[0].text, backend.given(Say)[0].literal) == (text, True)


async def test_one_that_can_not_be_done_says_why_and_stays() -> None:
    session = make_session(in_flight=None, turns=make_session().turns[:2])
    async with console(make_snapshot(session)) as (app, pilot, backend):
        await typed(app, pilot, "/interrupt")
        assert "no turn runs" in status(app)
        await alone(app, pilot, "enter")
        assert app.drive.composer.text == "/interrupt" and backend.given(Say) == []
        app.drive.composer.set_text("")
        await typed(app, pilot, "/model nonesuch")
        await alone(app, pilot, "enter")
        assert status(app) == "there is no model nonesuch; there are opus, sonnet, haiku"
        assert app.drive.composer.text == "/model nonesuch"


async def test_one_that_needs_the_agents_own_screen_is_refused_with_what_to_do() -> None:
    session = make_session(own_screen=(("login", "sign in there"), ("compact", "not meant: it is listed")))
    async with console(make_snapshot(session)) as (app, pilot, backend):
        await typed(app, pilot, "/login")
        assert status(app).startswith("/login needs claude's own screen: sign in there")
        await alone(app, pilot, "enter")
        assert backend.given(Say) == [] and app.drive.composer.text == "/login"
        app.drive.composer.set_text("")
        await typed(app, pilot, "/compact")
        assert status(app).startswith("will run /compact")


# ---------------------------------------------------------------------------------------------------------- long texts


def test_a_long_text_is_one_sign_that_no_edit_can_break() -> None:
    bundles = Bundles()
    long = "line\n" * LONG
    sign = bundles.fold(long)
    assert len(sign) == 1
    assert bundles.unfold(f"see {sign}, please") == f"see {long}, please"
    assert bundles.unfold(f"{sign}{sign}") == long + long
    assert bundles.standing_in(f"a{sign}") == (long,)
    assert bundles.fold(f"a sign of ours {sign}") == "a sign of ours \ufffd", "what comes in stands for nothing"
    bundles.forget()
    assert bundles.unfold(sign) == sign


async def test_a_long_paste_is_spoken_of_sent_whole_and_given_up_whole() -> None:
    long = "\n".join(f"line {n}" for n in range(10_000))
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        await typed(app, pilot, "see ")
        app.drive.composer.put_pasted(long)
        await settled(pilot)
        await typed(app, pilot, " ok")
        assert app.drive.composer.text == f"see {long} ok"
        assert "10,000 lines, 99 kB" in status(app)
        assert len(app.drive.composer.document.text) == len("see x ok")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(Say))
        assert backend.given(Say)[0].text == f"see {long} ok"


async def test_a_paste_takes_the_place_of_what_is_selected() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _backend):
        await typed(app, pilot, "one two")
        app.drive.composer.select_all()
        app.drive.composer.put_pasted("three")
        await settled(pilot)
        assert app.drive.composer.text == "three"


async def test_cutting_takes_a_selection_only_and_it_can_be_put_back() -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, _backend):
        long = "x" * (LONG + 5)
        app.drive.composer.put_pasted(long)
        await settled(pilot)
        await alone(app, pilot, "ctrl+x")
        assert app.drive.composer.text == long
        app.drive.composer.select_all()
        await alone(app, pilot, "ctrl+x")
        assert app.drive.composer.text == ""
        await alone(app, pilot, "ctrl+v")
        assert app.drive.composer.text == long


# -------------------------------------------------------------------------------------------------- the line of turns


def waiting_in_line() -> FakeBackend:
    session = make_session(queued=(queued(5, "then the linter"), queued(6, "then push"), queued(7, "then rest")))
    return FakeBackend(make_snapshot(session))


async def to_the_second(app: FootplateApp, pilot: object, what: str) -> None:
    await alone(app, pilot, "escape")  # type: ignore[arg-type]
    await alone(app, pilot, "U")  # type: ignore[arg-type]
    await eventually(lambda: isinstance(app.screen, Choose))
    await alone(app, pilot, "down")  # type: ignore[arg-type]
    await alone(app, pilot, "enter")  # type: ignore[arg-type]
    await eventually(lambda: isinstance(app.screen, Choose) and "then push" in app.screen.heading)
    sheet = app.screen
    assert isinstance(sheet, Choose)
    while sheet.chosen is not None and sheet.chosen.value != what:
        await alone(app, pilot, "down")  # type: ignore[arg-type]
    await alone(app, pilot, "enter")  # type: ignore[arg-type]


async def test_one_of_the_line_is_changed_in_its_place_and_the_draft_comes_back() -> None:
    backend = waiting_in_line()
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await typed(app, pilot, "my draft")
        await to_the_second(app, pilot, "edit")
        await eventually(lambda: app.drive.composer.text == "then push")
        assert "Enter saves it in its place" in status(app)
        await typed(app, pilot, " to the fork")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "my draft")
        assert [(one.queued, one.text) for one in backend.given(EditQueued)] == [(6, "then push to the fork")]
        assert backend.given(Say) == []


async def test_leaving_it_changes_nothing_and_what_was_written_is_kept() -> None:
    backend = waiting_in_line()
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await typed(app, pilot, "my draft")
        await to_the_second(app, pilot, "edit")
        await eventually(lambda: app.drive.composer.text == "then push")
        await typed(app, pilot, " twice")
        await alone(app, pilot, "escape")
        await eventually(lambda: app.drive.composer.text == "my draft")
        assert backend.given(EditQueued) == []
        await to_the_second(app, pilot, "edit")
        await eventually(lambda: app.drive.composer.text == "then push twice")


async def test_what_was_sent_meanwhile_loses_nothing_of_what_was_written() -> None:
    backend = waiting_in_line()
    backend.replies[EditQueued] = Refusal(RefusalReason.STALE, {"what": "queued turn"})
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await typed(app, pilot, "my draft")
        await to_the_second(app, pilot, "edit")
        await eventually(lambda: app.drive.composer.text == "then push")
        await typed(app, pilot, " twice")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.composer.text == "then push twice\nmy draft")
        assert "sent meanwhile" in status(app)


@pytest.mark.parametrize(("what", "composer"), [("withdraw", "my draft"), ("back", "then push\nmy draft")])
async def test_one_of_the_line_is_withdrawn_or_taken_back(what: str, composer: str) -> None:
    backend = waiting_in_line()
    app = FootplateApp(backend)
    async with app.run_test(size=(120, 34)) as pilot:
        await typed(app, pilot, "my draft")
        await to_the_second(app, pilot, what)
        await eventually(lambda: backend.given(EditQueued))
        assert [(one.queued, one.text) for one in backend.given(EditQueued)] == [(6, "")]
        await eventually(lambda: app.drive.composer.text == composer)


# ------------------------------------------------------------------------------------------- nothing waits for a reply


@pytest.mark.parametrize("kind", [Say, Interrupt])
async def test_keys_are_heard_while_the_backend_is_busy(kind: type) -> None:
    async with console(make_snapshot(make_session())) as (app, pilot, backend):
        backend.held_back.add(kind)
        await typed(app, pilot, "go on")
        await alone(app, pilot, "enter" if kind is Say else "ctrl+c")
        await eventually(lambda: backend.given(kind))
        await typed(app, pilot, ", and more")
        assert app.drive.composer.text == "go on, and more"
        if kind is Say:
            await alone(app, pilot, "enter")
            assert len(backend.given(Say)) == 1, "not said twice"
            backend.complete(backend._reply(backend.open[0][0]))
            await eventually(lambda: app.drive.composer.text == ", and more")


async def test_a_start_is_asked_once_and_keys_are_heard_meanwhile() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.held_back.add(StartRun)
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "enter")
        await alone(app, pilot, "enter")
        await alone(app, pilot, "escape")
        assert len(backend.given(StartRun)) == 1
        assert app.focused is app.drive.composer


async def test_terms_for_a_brief_that_was_changed_meanwhile_are_not_shown() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.held_back.add(Propose)
        await typed(app, pilot, "Fix it.")
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.open)
        await typed(app, pilot, " All of it.")
        backend.complete(backend._reply(backend.open[0][0]))
        await eventually(lambda: "changed meanwhile" in status(app))
        assert app.drive.proposal is None and app.drive.composer.text == "Fix it. All of it."


def test_the_list_keeps_the_chosen_row_in_it() -> None:
    from app.console.views.glyphs import UNICODE

    offers = tuple(completing.Offer(put=f"@f{n} ", shown=f"f{n}") for n in range(20))
    for at in (-1, 0, 4, 5, 19):
        rows = [plain(row) for row in completing.offer_lines(offers, at, 40, 5, UNICODE)]
        assert len(rows) == 5 and any(row.endswith(f"f{max(at, 0)}") for row in rows)
    assert completing.offer_lines(offers, 0, 40, 0, UNICODE) == ()


async def test_a_key_right_after_escape_is_for_the_keys_and_no_letter_of_the_draft() -> None:
    async with console(make_snapshot(make_session(), make_session(14))) as (app, pilot, backend):
        await typed(app, pilot, "draft")
        here = app.drive.run_in_view
        burst(app, "escape", "J")
        await eventually(lambda: app.drive.run_in_view != here)
        await eventually(lambda: backend.drafts.get(f"run:{here}") == "draft")
