"""What the views say: widths, literal text, groups, dead keys, folding. Plain data, no screen."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from app.console.keymap import with_keymap
from app.console.keys import NEVER, TABLE, Where, find, undeliverable
from app.console.starting import unchanged, wishes_of
from app.console.views import form as forms
from app.console.views.actions import Situation, hints, offers, why_dead
from app.console.views.card import CardState, card_picture, edited_input, face_of, offers_rule, unanswered_words
from app.console.views.diff import diff_rows
from app.console.views.glyphs import UNICODE
from app.console.views.ink import Span, cells, cut, cut_path, hard_wrap, literal, one_line, plain, sides, wrap
from app.console.views.limits import Limit, extension, limit_face, limit_of, typed_extension
from app.console.views.lists import list_picture, ordered, strip_line
from app.console.views.panel import gauge, panel_lines
from app.console.views.standing import spent
from coordinator.api import Extend, Group, Propose
from coordinator.drivers.base import Offer, OfferKind, QuestionReply
from store.vocab import MicroUsd, RunId
from tests.console.scenes import EDIT, LONG, QUESTIONS, checkout, full
from tests.fakes.backend import MINUTE, NOW, ago, make_budget, make_decision, make_session, make_snapshot

any_text = st.text(max_size=200)

AS_PROPOSED = unchanged(preamble=True)


@given(any_text)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    shown = literal(text)
    assert not any(
        ord(letter) < 0x20 or 0x7F <= ord(letter) < 0xA0 or 0x202A <= ord(letter) <= 0x202E for letter in shown
    )
    assert "\n" not in one_line(text)


@given(any_text, st.integers(1, 60))
def test_cut_text_fits(text: str, width: int) -> None:
    assert cell_len(cut(literal(text), width)) <= width
    assert cell_len(cut_path(literal(text), width)) <= width


@given(st.text(alphabet="ab 漢🧪e\u0301\n", max_size=120), st.integers(4, 40))
def test_wrapped_rows_fit_and_keep_every_letter(text: str, width: int) -> None:
    rows = wrap(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows).replace(" ", "") == text.replace(" ", "").replace("\n", "")


@given(st.text(alphabet="ab 漢\n", max_size=120), st.integers(2, 40))
def test_hard_wrapped_rows_keep_every_character(text: str, width: int) -> None:
    rows = hard_wrap(text, width)
    assert all(cell_len(row) <= width for row in rows)
    assert "".join(rows) == text.replace("\n", "")


@given(any_text, st.text(max_size=20), st.integers(10, 80))
def test_two_sides_fill_the_row_exactly(left: str, right: str, width: int) -> None:
    row = sides((Span(one_line(left)),), (Span(one_line(right)),), width)
    assert cells(row) <= width


# ------------------------------------------------------------------------------------------------------------ the list


def test_groups_come_in_their_order_and_the_longest_waiting_first() -> None:
    late = make_session(20, group=Group.NEEDS_YOU, decisions=(make_decision(9, 20, asked_at=ago(MINUTE)),))
    early = make_session(30, group=Group.NEEDS_YOU, decisions=(make_decision(8, 30, asked_at=ago(9 * MINUTE)),))
    snapshot = make_snapshot(make_session(1, group=Group.IDLE), late, make_session(2), early)
    assert [one.run for one in ordered(snapshot)] == [30, 20, 2, 1]


def test_rows_of_the_list_are_never_wider_than_it() -> None:
    for width in (20, 28, 36):
        picture = list_picture(full(), RunId(12), NOW, width, UNICODE)
        assert max(cells(row) for row in picture.lines) <= width
        assert len(picture.lines) == len(picture.runs)


def test_the_session_in_view_is_on_the_strip_however_many_there_are() -> None:
    sessions = tuple(make_session(n, f"session number {n}") for n in range(1, 40))
    for run in (1, 20, 39):
        row = strip_line(make_snapshot(*sessions), RunId(run), 78, UNICODE)
        assert cells(row) <= 78
        assert f"●{run} " in plain(row)


def test_seconds_tick_only_in_view_and_for_the_oldest() -> None:
    later = replace(full(), now=NOW)
    before = list_picture(later, RunId(12), NOW, 30, UNICODE).lines
    after = list_picture(later, RunId(12), type(NOW)(NOW + 1_000), 30, UNICODE).lines
    changed = [plain(new) for old, new in zip(before, after, strict=True) if old != new]
    assert [row.strip() for row in changed] == ["permission · 1m13s"]


def test_unknown_money_is_a_dash_and_never_nothing() -> None:
    assert spent(make_session(budget=make_budget(spent=MicroUsd(0), unknown_turns=1))) == "–"
    assert spent(make_session(budget=make_budget(guessed=True))) == "~0.84"


@given(st.floats(0, 2), st.integers(3, 40))
def test_a_gauge_is_as_wide_as_told_and_neither_empty_nor_full_by_rounding(share: float, width: int) -> None:
    row = gauge(share, width, UNICODE)
    assert cells(row) == width
    full_cells = plain(row).count("━")
    assert (full_cells > 0) == (share > 0)
    assert (full_cells == width) == (share >= 1)


# ------------------------------------------------------------------------------------------------------------- the card


def test_what_does_not_fit_folds_and_its_options_wait_for_the_end() -> None:
    face = face_of(LONG, None, None, checkout(), 70, UNICODE)
    folded = card_picture(face, CardState(focused=True), 76, 10, UNICODE)
    assert not folded.alive
    assert len(folded.lines) <= 10
    assert any("to the end, then answer" in plain(row) for row in folded.lines)
    inks = {span.text.strip(): span.ink for row in folded.lines for span in row}
    assert inks["1"] == "grey"
    assert inks["2"] == inks["3"] == "blue strong"
    at_end = card_picture(face, CardState(focused=True, offset=folded.max_offset), 76, 10, UNICODE)
    assert at_end.alive
    back = CardState(focused=True, offset=0, seen=len(face.body))
    assert card_picture(face, back, 76, 10, UNICODE).alive


def test_no_part_of_a_command_is_cut() -> None:
    face = face_of(LONG, None, None, checkout(), 50, UNICODE)
    shown = "".join(plain(row) for row in face.body).replace(" ", "")
    assert shown == LONG.subject.replace("\n", "").replace(" ", "")


def test_an_edit_shows_what_it_changes() -> None:
    body = [plain(row) for row in face_of(EDIT, None, None, checkout(), 70, UNICODE).body]
    assert "+    w.ready.wait(5)" in body
    assert body[0] == "tests/conftest.py"


@pytest.mark.parametrize("command", ["a && b", "a; b", "a $(b)", "a | b", "a\nb", "a `b`", "a > b"])
def test_no_rule_is_offered_where_it_could_not_hold(command: str) -> None:
    decision = make_decision(rule="commands that begin with a", input={"command": command}, subject=command)
    assert not offers_rule(decision)
    labels = [option.label for option in face_of(decision, None, None, checkout(), 70, UNICODE).options]
    assert labels == ["allow once", "deny", "deny, and say why"]


def test_the_agents_own_options_are_the_only_ones_and_say_what_they_cover() -> None:
    once, run, no = (
        Offer(id="a", label="Yes", kind=OfferKind.ALLOW),
        Offer(id="b", label="Always", kind=OfferKind.ALLOW_RUN, covers="commands that begin with pytest"),
        Offer(id="c", label="No", kind=OfferKind.DENY),
    )
    face = face_of(make_decision(offers=(run, once, no), input={}), None, None, checkout(), 70, UNICODE)
    assert [(one.key, one.label, one.offer) for one in face.options] == [
        ("1", "Yes", "a"),
        ("2", "No", "c"),
        ("4", "Always", "b"),
    ]
    assert any(fact.text == "4 covers: commands that begin with pytest" for fact in face.reach)


@pytest.mark.parametrize(
    ("diff", "shown"),
    [
        ("--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-x\n+y", ["a.py", "-x", "+y"]),
        ("--- a.py\n+++ a.py\n@@ -1,1 +1,1 @@\n-x\n@@ -9,1 +8,0 @@\n-z", None),
        ("--- a.py\n+++ b.py\n@@ -1,1 +1,1 @@\n-x", "whole"),
        ("@@ -1,2 +1,2 @@\n--- a.py\n+++ a.py", "whole"),
    ],
)
def test_a_path_stands_once_over_its_changes_and_no_change_is_taken_for_it(diff: str, shown: object) -> None:
    rows = [plain(row) for row in diff_rows(diff, 60)]
    numbered = ["a.py", "@@ -1,1 +1,1 @@", "-x", "@@ -9,1 +8,0 @@", "-z"]
    assert rows == (diff.split("\n") if shown == "whole" else shown or numbered)


def test_the_rule_says_what_it_covers_and_how_often_it_was_used() -> None:
    decision = make_decision(rule="Bash commands that begin with pytest", rule_uses=3)
    face = face_of(decision, None, None, checkout(), 70, UNICODE)
    assert any("4 covers: Bash commands that begin with pytest, used 3 times" in fact.text for fact in face.reach)


def test_a_path_that_made_it_ask_is_called_outside_only_where_it_is() -> None:
    """Some agents name a path in the tree too: their own settings, say."""

    def reach(path: str) -> list[str]:
        face = face_of(make_decision(blocked_path=path), None, None, replace(checkout(), tree="/src/t"), 70, UNICODE)
        return [span.text for span in face.reach]

    for path in ("/src/t/.claude/settings.json", ".claude/settings.json", "/src/t", "/src/t/a/../b"):
        assert reach(path) == [f"it asks because of {path}"]
    for path in ("/etc/passwd", "/src/tt/a", "/src/t/../a", "../a", "~/.ssh/config"):
        assert reach(path) == [f"outside what it may touch: {path}"]


@pytest.mark.parametrize("height", range(6, 14))
@pytest.mark.parametrize("width", [24, 36, 56, 76])
def test_what_an_answer_reaches_is_read_before_it_can_be_given(width: int, height: int) -> None:
    """However low the card: it stands under the text, or is the end of what must be seen."""
    decision = make_decision(
        rule="Bash commands that begin with pytest and are as long as this one is, so that it takes some rows",
        input={"command": "pytest -q"},
        subject="\n".join(f"pytest -q tests/part_{n}" for n in range(6)),
        blocked_path="/etc/passwd",
    )
    face = face_of(decision, None, None, checkout(), width - 4, UNICODE)
    at, seen = 0, ""
    while True:
        picture = card_picture(face, CardState(focused=True, offset=at, seen=at), width, height, UNICODE)
        seen += " ".join(plain(row).strip() for row in picture.lines) + " "
        if picture.alive:
            break
        at += picture.body_rows
    for word in (*(decision.rule or "").split(), "/etc/passwd"):
        assert word in seen.replace("…", "") or len(word) > width - 8, word


def test_a_request_with_next_to_nothing_can_be_answered() -> None:
    face = face_of(make_decision(subject="", input={}, title=""), None, None, checkout(), 70, UNICODE)
    assert face.body and [option.verb for option in face.options] == ["allow", "deny", "deny-why"]


def test_edited_input_keeps_the_rest() -> None:
    decision = make_decision(input={"command": "ls", "timeout": 5})
    assert edited_input(decision, "ls -l") == {"command": "ls -l", "timeout": 5}
    assert isinstance(edited_input(decision, "  "), str)
    assert isinstance(edited_input(make_decision(input={"a": 1}), "{"), str)
    assert isinstance(edited_input(make_decision(input={"a": 1}), "[1]"), str)


def test_a_form_lists_what_is_unanswered_and_never_fills_it_in() -> None:
    form = forms.pick(forms.pick(forms.new_form(QUESTIONS), 0), 2)
    assert "Target" in unanswered_words(form)
    assert forms.reply(form) == QuestionReply(answers={QUESTIONS[0].text: ("unit tests", "browser tests")})
    assert forms.unanswered(forms.pick(form, 0)) == (1,)


@given(st.lists(st.tuples(st.sampled_from(["pick", "toggle", "move", "turn", "say"]), st.integers(-1, 4)), max_size=30))
def test_whatever_is_pressed_a_form_answers_only_what_was_chosen(steps: list[tuple[str, int]]) -> None:
    form = forms.new_form(QUESTIONS)
    for step, number in steps:
        match step:
            case "pick":
                form = forms.pick(form, max(number, 0))
            case "toggle":
                form = forms.toggle(form)
            case "move":
                form = forms.move(form, number)
            case "turn":
                form = forms.turn_to(form, number)
            case _:
                form = forms.say(form, "own" if number > 1 else "")
    reply = forms.reply(form)
    for index, question in enumerate(QUESTIONS):
        assert (question.text in reply.answers) == forms.answered(form, index)
        labels = {choice.label for choice in question.choices} | {"own"}
        assert set(reply.answers.get(question.text, ())) <= labels
        if not question.multiple:
            assert len(reply.answers.get(question.text, ())) <= 1


# ---------------------------------------------------------------------------------------------------------------- keys


def situation(run: int | None = 12, focus: Where = Where.KEYS) -> Situation:
    return Situation(snapshot=full(), run=RunId(run) if run is not None else None, focus=focus)


def test_no_key_is_bound_that_does_not_arrive_everywhere() -> None:
    for row in TABLE:
        for key in row.keys:
            assert undeliverable(key) is None, (row.action, key)


def test_no_two_actions_share_a_key_where_both_could_be_meant() -> None:
    seen: dict[tuple[Where, str], str] = {}
    for row in TABLE:
        for key in row.keys:
            assert (row.where, key) not in seen, (key, row.action, seen[(row.where, key)])
            seen[(row.where, key)] = row.action
    anywhere = {key for (where, key) in seen if where is Where.ANYWHERE}
    assert not anywhere & {key for (where, key) in seen if where is not Where.ANYWHERE}


def test_digits_do_nothing_in_the_keys() -> None:
    assert all(find(str(digit), Where.KEYS) is None for digit in range(10))


def test_a_keymap_is_taken_or_refused_with_the_reason() -> None:
    table, problems = with_keymap({"details": "D", "rename": "ctrl+s", "pin": "u", "nothing": "x"})
    assert find("D", Where.KEYS, table) is not None and find("l", Where.KEYS, table) is None
    assert len(problems) == 3
    assert NEVER["ctrl+s"] in problems[0]
    assert any("already seen" in problem for problem in problems)


def test_a_dead_key_says_why() -> None:
    assert why_dead("stop", situation(None)) == "no session is in view"
    assert why_dead("stop", situation(7)) == "7 has ended: nothing of it runs"
    assert why_dead("interrupt", situation(10)) == "no turn runs: there is nothing to interrupt"
    assert why_dead("continue", situation(12)) == "12 has not ended: just write to it"
    assert why_dead("stop-x", situation(12)) is None


def test_the_command_list_and_the_keys_give_the_same_reason() -> None:
    at = situation(7)
    for offer in offers(at):
        assert offer.dead == why_dead(offer.action, at)


@pytest.mark.parametrize("focus", list(Where))
def test_at_most_six_hints(focus: Where) -> None:
    assert len(hints(situation(12, focus))) <= 6


def test_what_no_rule_answers_is_said_only_where_rules_are() -> None:
    decision = make_decision(subject="a && b", input={"command": "a && b"})
    session = checkout()
    assert session.terms is not None
    ruled = replace(session, terms=replace(session.terms, rules=("allow command git",)))
    for one, said in ((session, False), (ruled, True)):
        face = face_of(decision, None, None, one, 70, UNICODE)
        assert ("rules never answer a command with `&&`" in plain(face.facts)) is said


def test_the_hint_says_what_enter_does() -> None:
    assert dict(hints(situation(12, Where.COMPOSER)))["Enter"] == "after this turn"
    assert dict(hints(situation(9, Where.COMPOSER)))["Enter"] == "send"
    assert dict(hints(situation(None, Where.COMPOSER)))["Enter"] == "show the terms"


# ------------------------------------------------------------------------------------------------------------- limits

RUN = RunId(12)
AT: dict[Limit, dict[str, object]] = {
    Limit.MONEY: {"at_budget": True, "budget": make_budget(spent=MicroUsd(5_020_000), turns=40)},
    Limit.TURNS: {"at_budget": True, "budget": make_budget(turns=40)},
    Limit.WORK: {"at_budget": True, "budget": make_budget(working_ms=60 * MINUTE)},
    Limit.WORK_IN_TURN: {"past_work": True, "budget": make_budget(working_ms=61 * MINUTE)},
    Limit.END: {},
}


@pytest.mark.parametrize(
    ("limit", "says", "first", "typed", "more"),
    [
        (
            Limit.MONEY,
            "5.02 of 5.00. Nothing is lost",
            "extend by 5.00",
            "2.5",
            Extend(run=RUN, money=MicroUsd(2_500_000)),
        ),
        (Limit.TURNS, "40 of 40 turns. Nothing is lost", "extend by 40 turns", "10", Extend(run=RUN, turns=10)),
        (
            Limit.WORK,
            "60m of 60m worked. Nothing",
            "extend by 60m of work",
            "30",
            Extend(run=RUN, working_seconds=1800),
        ),
        (Limit.WORK_IN_TURN, "its turn goes on", "extend by 60m of work", "90", Extend(run=RUN, working_seconds=5400)),
        (Limit.END, "Its terms end at", "extend by 1 hour", "1.5", Extend(run=RUN, seconds=5400)),
    ],
)
def test_the_card_names_the_limit_that_is_used_up_and_adds_to_that_one(
    limit: Limit, says: str, first: str, typed: str, more: Extend
) -> None:
    session = make_session(**AT[limit])
    assert limit_of(session) is limit
    face = limit_face(session, 100)
    assert says in plain(face.body[0]) and face.options[0].label == first
    assert [one.verb for one in face.options][2:] == ["interrupt" if limit is Limit.WORK_IN_TURN else "finish", "stop"]
    assert typed_extension(session, typed) == more
    changed = [name for name in ("money", "turns", "working_seconds", "seconds") if getattr(more, name) is not None]
    assert [
        name for name in ("money", "turns", "working_seconds", "seconds") if getattr(extension(session), name)
    ] == changed
    for nonsense in ("", "lots", "-1", "0", "nan", "1e9"):
        assert isinstance(typed_extension(session, nonsense), str)
    assert isinstance(typed_extension(make_session(**AT[Limit.TURNS]), "1.5"), str)


def test_the_panel_shows_working_time_with_its_gauge() -> None:
    rows = [plain(row) for row in panel_lines(make_session(), NOW, 24, UNICODE)]
    at = next(place for place, row in enumerate(rows) if row.startswith("WORKING"))
    assert rows[at].endswith("6m of 60m") and rows[at + 1] == "━━" + "╌" * 22
    free = [
        plain(row) for row in panel_lines(make_session(budget=make_budget(working_limit_ms=None)), NOW, 24, UNICODE)
    ]
    assert free[at].endswith(" 6m") and not free[at + 1].startswith("━")


def test_the_form_takes_minutes_of_work() -> None:
    values = {
        "title": "",
        "agent": "",
        "model": "",
        "budget": "",
        "turns": "40",
        "hours": "2",
        "mode": "",
        "tree": "new",
    }
    before = replace(AS_PROPOSED, working_seconds=1200)
    for typed, expected in (("90", 5400), ("0.5", 30), ("", 1200)):
        wishes = wishes_of({**values, "work": typed}, before)
        assert isinstance(wishes, Propose) and wishes.working_seconds == expected
    for nonsense in ("long", "0", "-5", "inf", "nan"):
        said = wishes_of({**values, "work": nonsense}, before)
        assert isinstance(said, str) and said.startswith("minutes of work:")
