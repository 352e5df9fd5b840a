"""Standing rules on the screen: each in words before it is agreed to, what is new among them marked, all of them a key
away; written anew in the form; and, in a run, how often each answered."""

from collections.abc import Callable

import pytest
from textual.widgets import Input

from app.console.screens.reading import Rules
from app.console.starting import rules_of, unchanged
from app.console.views.details import details_lines
from app.console.views.ink import Line
from app.console.views.start import rules_lines, terms_lines
from app.wording import terms_sentence
from coordinator.api import OperatorCommand, Proposal, Propose, StartRun
from store.vocab import DecisionState
from tests.console.driving import alone, settled, typed
from tests.console.opened import console
from tests.fakes.backend import NOW, make_decision, make_session, make_snapshot, make_terms
from tests.waiting import eventually

AS_PROPOSED = unchanged(preamble=True)
RULES = tuple(f"allow command make part{number}" for number in range(9))


def proposal(*rules: str, new: tuple[str, ...] = (), gone: tuple[str, ...] = ()) -> Proposal:
    return Proposal(terms=make_terms(rules=rules), preset=None, new_rules=new, gone_rules=gone)


def shown(rows: tuple[Line, ...]) -> list[tuple[str, str]]:
    """Text and ink of each row."""
    return [("".join(span.text for span in row).strip(), row[-1].ink if row else "") for row in rows]


def lines(made: Proposal, width: int = 80) -> list[tuple[str, str]]:
    return shown(terms_lines(made, NOW, width, show_added=False))


def test_the_sentence_says_how_many_and_each_stands_below_it() -> None:
    new, old, gone = "deny edit docs/**", "allow command pytest -q", "allow command make"
    made = proposal(old, new, new=(new,), gone=(gone,))
    assert "but for what 2 standing rules answer." in terms_sentence(made.terms, NOW)
    assert "but for what 1 standing rule answers." in terms_sentence(make_terms(rules=(new,)), NOW)
    assert "standing rule" not in terms_sentence(make_terms(), NOW)
    rows = lines(made)
    at = rows.index(("new: deny edits of docs/**", "amber"))
    assert rows[at + 1 : at + 3] == [
        ("allow commands that begin with pytest -q", "text"),
        ("no longer: allow commands that begin with make", "amber"),
    ]


def test_what_a_rule_on_commands_leaves_open_is_said_where_it_is_agreed_to() -> None:
    open_end = "how an allowed command goes on is open: options of many write files or run programs"

    def said(*rules: str, width: int = 120) -> list[str]:
        return [text for text, _ in (*lines(proposal(*rules), width), *shown(rules_lines(proposal(*rules), width)))]

    assert said("deny command rm", "allow command git diff", "allow command find").count(open_end) == 2
    assert open_end not in said("deny command rm", "allow edit src/**", "allow tool mcp__x__y")
    assert open_end in " ".join(said(*RULES, width=60)), "however many there are, and however narrow it is"


def test_many_rules_leave_room_and_what_is_new_comes_first() -> None:
    rows = [text for text, _ in lines(proposal(*RULES, new=RULES[-2:]))]
    assert rows.count("and 3 more: r shows them all") == 1
    assert [text for text in rows if text.startswith("new: ")] == [
        "new: allow commands that begin with make part7",
        "new: allow commands that begin with make part8",
    ]
    (more,) = [row for row in lines(proposal(*RULES, new=RULES)) if "r shows" in row[0]]
    assert more == ("and 3 more, 3 of them not as last time: r shows them all", "amber")
    assert not [text for text, _ in lines(proposal(*RULES[:7])) if "more" in text]
    long = tuple(f"allow command make {number} {'x' * 200}" for number in range(3))
    assert ("and 2 more: r shows them all", "grey") in lines(proposal(*long), 60)


async def test_r_shows_every_rule_and_the_terms_wait_as_they_were() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        backend.replies[Propose] = proposal(*RULES, new=RULES[:1])
        await typed(app, pilot, make_terms().instruction)
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)
        await alone(app, pilot, "r")
        await eventually(lambda: isinstance(app.screen, Rules))
        sheet = app.screen
        assert isinstance(sheet, Rules)
        told = [text for text, _ in shown(sheet.rows())]
        assert (
            sum("make part" in text for text in told) == 9
            and told[0] == "new: allow commands that begin with make part0"
        )
        await alone(app, pilot, "escape")
        await eventually(lambda: app.screen is app.drive and app.drive.terms.ripe)
        assert backend.given(StartRun) == []
        await alone(app, pilot, "enter")
        await eventually(lambda: backend.given(StartRun))
        assert backend.given(StartRun)[0].terms.rules == RULES


async def test_the_form_has_them_to_be_written_anew() -> None:
    async with console(make_snapshot()) as (app, pilot, backend):
        asked: list[Propose] = []

        def answer(command: OperatorCommand) -> Proposal:
            assert isinstance(command, Propose)
            asked.append(command)
            return proposal(*(RULES[:2] if command.rules is None else command.rules))

        reply: Callable[[OperatorCommand], Proposal] = answer
        backend.replies[Propose] = reply
        await typed(app, pilot, make_terms().instruction)
        await alone(app, pilot, "enter")
        await eventually(lambda: app.drive.terms.ripe)

        async def written(text: str | None) -> None:
            count = len(asked)
            await alone(app, pilot, "e")
            await eventually(lambda: app.screen is not app.drive)
            field = app.screen.query_one("#field-rules", Input)
            if text is not None:
                field.value = text
            field.focus()
            await settled(pilot)
            await alone(app, pilot, "enter")
            await eventually(lambda: app.screen is app.drive and (len(asked) > count or app.drive.terms.said))
            await eventually(lambda: app.drive.terms.ripe)

        await written(None)
        assert asked[-1].rules is None, "left as they are, they are the ones that are kept"
        await written("allow command  make part0; deny tool Task;")
        assert asked[-1].rules == ("allow command make part0", "deny tool Task")
        await written("")
        assert asked[-1].rules == ()
        before = len(asked)
        await written("allow all")
        assert len(asked) == before and "no rule" in app.drive.terms.said


@pytest.mark.parametrize("text", ["allow command a b", "allow command 'a b'", "deny edit **/x; allow tool t"])
def test_what_the_form_shows_reads_back_as_it_is(text: str) -> None:
    found = rules_of({"rules": text}, AS_PROPOSED, ())
    assert isinstance(found, Propose) and found.rules is not None
    assert rules_of({"rules": "; ".join(found.rules)}, AS_PROPOSED, found.rules) == AS_PROPOSED


def test_the_details_say_how_often_each_answered() -> None:
    first, second, third = "allow edit src/**", "allow edit docs/*", "deny tool Task"
    by = (f"rule: {first}", f"rule: {first} + {second}", "Ada")
    decisions = tuple(
        make_decision(number, state=DecisionState.DELIVERED, answer="allowed once", answered_by=who, answered_at=NOW)
        for number, who in enumerate(by, start=1)
    )
    session = make_session(terms=make_terms(rules=(first, second, third)), decisions=decisions)
    rows = [text for text, _ in shown(details_lines(session, NOW, 110))]
    at = next(place for place, text in enumerate(rows) if "allow edits of src/**" in text)
    assert [text.removeprefix("rule").strip() for text in rows[at : at + 3]] == [
        "allow edits of src/** (answered 2 requests)",
        "allow edits of docs/* (answered 1 request)",
        "deny the tool Task (not used)",
    ]
    assert any("allowed once rule: allow edit src/**" in text for text in rows)
