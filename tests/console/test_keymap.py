"""The operator's own keys: what is taken, what is refused and why; and the screen says the keys that are in force."""

import pytest

from app.console.keymap import key_named, why_not, with_keymap
from app.console.keys import NEVER, TABLE, Where, find, shown
from app.console.options import ConsoleOptions
from app.console.screens.choose import Choose
from app.console.screens.reading import Help
from app.console.views.actions import help_lines
from app.console.views.ink import Line
from tests.console.driving import alone
from tests.console.opened import console
from tests.console.scenes import full


def text_of(lines: tuple[Line, ...]) -> str:
    return "\n".join("".join(span.text for span in line) for line in lines)


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("^E", "ctrl+e"), ("Ctrl+E", "ctrl+e"), ("ctrl+e", "ctrl+e"), ("F5", "f5"), ("?", "question_mark"), ("D", "D"),
        ("question_mark", "question_mark"), ("^\\", "ctrl+backslash"), ("alt+x", "alt+x"), ("/", "slash"),
        ("-", "minus"), ("PgUp", "pageup"), ("nonsense", None), ("super+x", None), ("ctrl+", None), ("", None),
        ("\x07", None), ("f99", None),
    ],
)  # fmt: skip
def test_a_key_may_be_written_as_people_write_it(said: str, name: str | None) -> None:
    assert key_named(said) == name


def test_every_key_of_the_table_is_one_that_could_be_asked_for() -> None:
    for row in TABLE:
        for key in row.keys:
            assert key_named(key) == key, key


@pytest.mark.parametrize("action", [row.action for row in TABLE])
def test_every_action_is_taken_or_its_refusal_is_told(action: str) -> None:
    table, problems = with_keymap({action: "f11"})
    row = next(one for one in table if one.action == action)
    assert (row.keys == ("f11",)) is not bool(problems)
    assert row.inner is bool(problems)
    if not row.inner:
        assert shown(row) == "F11"


NOT_EVERYWHERE = ("ctrl+left", "ctrl+1", "alt+1", "ctrl+shift+e", "shift+f5", "ctrl+question_mark", "f13")


@pytest.mark.parametrize("key", [*NEVER, *NOT_EVERYWHERE])
def test_what_does_not_arrive_is_refused(key: str) -> None:
    table, problems = with_keymap({"details": key})
    assert table == TABLE
    assert len(problems) == 1 and "can not be bound" in problems[0] and "details" in problems[0]


@pytest.mark.parametrize("key", ["x", "?", "space", "enter", "escape", "tab", "up", "1"])
def test_an_action_of_everywhere_takes_nothing_from_what_is_written(key: str) -> None:
    table, problems = with_keymap({"stop": key})
    assert table == TABLE and len(problems) == 1


def test_digits_only_answer() -> None:
    assert why_not("1", Where.KEYS) == "digits only answer"


def test_a_clash_is_refused_wherever_both_would_be_heard() -> None:
    for action, key in (("details", "t"), ("stop", "ctrl+g"), ("stop", "ctrl+o"), ("rename", "ctrl+q"), ("pin", "j")):
        table, problems = with_keymap({action: key})
        assert table == TABLE, (action, key)
        assert "is already" in problems[0]


def test_two_may_change_places_and_two_may_not_have_the_same() -> None:
    table, problems = with_keymap({"details": "t", "panel": "l"})
    assert problems == ()
    found = find("t", Where.KEYS, table)
    assert found is not None and found.action == "details"
    table, problems = with_keymap({"details": "D", "panel": "D"})
    assert len(problems) == 1
    assert [row.action for row in table if "D" in row.keys and row.where is Where.KEYS] == ["panel"]


def test_what_is_refused_in_a_chain_keeps_its_own_key() -> None:
    """Rename can not have what details keeps, because details' own wish was refused."""
    table, problems = with_keymap({"details": "ctrl+s", "rename": "l"})
    assert table == TABLE
    assert len(problems) == 2


def test_help_lists_every_row_with_the_keys_in_force() -> None:
    table, _ = with_keymap({"stop": "^E", "details": "D"})
    said = text_of(help_lines(100, table))
    assert "^E " in said and "D  " in said and "^\\" not in said
    assert all(row.words in said for row in table)
    assert "F9" in text_of(help_lines(100))


async def test_title_hints_card_palette_and_help_say_the_operators_keys() -> None:
    keymap = {"next-waiting": "^E", "commands": "F6", "stop": "F7", "details": "D"}
    options = ConsoleOptions(home="/home/mara", keymap=keymap)
    async with console(full(), options=options) as (app, pilot, _backend):
        drive = app.drive
        assert app.keymap_problems == ()
        assert "^E" in text_of(drive.title_bar.rows) and "^O" not in text_of(drive.title_bar.rows)
        assert "F6 commands" in text_of(drive.hints.rows) and "^E next waiting" in text_of(drive.hints.rows)
        assert "^E to answer here" in text_of(drive.card.face_widget.rows)
        await alone(app, pilot, "f6")
        assert isinstance(app.screen, Choose)
        rows = {row.value: row.key for row in app.screen._all}
        assert (rows["stop"], rows["details"], rows["next-waiting"]) == ("F7", "D", "^E")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "escape")
        await alone(app, pilot, "question_mark")
        assert isinstance(app.screen, Help)
        said = text_of(app.screen.text.rows)
        assert "^E" in said and "^O" not in said


async def test_a_refused_key_is_said_at_the_start_and_the_old_one_works() -> None:
    options = ConsoleOptions(home="/home/mara", keymap={"commands": "ctrl+s"})
    async with console(full(), options=options) as (app, pilot, _backend):
        assert "can not be bound" in app.drive.said.text
        await alone(app, pilot, "ctrl+p")
        assert isinstance(app.screen, Choose)
