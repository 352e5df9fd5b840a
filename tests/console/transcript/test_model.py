"""Transcripts of input and expected lines."""

import pytest

from app.console.views.glyphs import ASCII
from app.console.views.transcript import TranscriptModel
from app.wording import forbidden_in
from coordinator.drivers import base
from store.vocab import (
    CostKnowledge,
    DecisionKind,
    DecisionState,
    FailureKind,
    TurnResultKind,
    TurnSource,
    TurnState,
)
from tests.console.transcript.conversation import (
    TREE,
    Script,
    answered,
    asked,
    decision,
    finished,
    result,
    rich_conversation,
    session,
    shown,
    started,
    text,
    transcript,
    turn,
    used,
    working,
)

HEADER = [
    "1 you · brief                                               09:01   0.21",
    "▏turn 1",
    "",
]


def after_header(*events: base.AgentEvent) -> list[str]:
    rows = transcript(events)
    assert rows[:3] == HEADER
    return rows[3:]


def opened(*events: base.AgentEvent, targets: tuple[str, ...]) -> list[str]:
    model = TranscriptModel()
    model.show(session(), Script().say(*events).page())
    for target in targets:
        line = model.first_line(target)
        assert line is not None and model.toggle(line)
        model.flush()
    return shown(model)[3:]


# ------------------------------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("view", "header"),
    [
        (turn(1), "1 you · brief                                               09:01   0.21"),
        (turn(2), "2 you                                                       09:02   0.21"),
        (turn(2, operator="Bo"), "2 Bo                                                        09:02   0.21"),
        (
            turn(2, cost_known=CostKnowledge.GUESS),
            "2 you                                                       09:02  ~0.21",
        ),
        (
            turn(2, cost=None, cost_known=CostKnowledge.UNKNOWN),
            "2 you                                                       09:02      –",
        ),
        (
            turn(2, result=TurnResultKind.INTERRUPTED),
            "2 you · interrupted                                         09:02   0.21",
        ),
        (
            turn(2, state=TurnState.UNCERTAIN, result=None),
            "2 you · outcome unknown: the agent was cut off              09:02   0.21",
        ),
        (
            turn(2, state=TurnState.RECORDED, result=None),
            "2 you · saved                                                      09:02",
        ),
        (turn(2, source=TurnSource.ANSWER), "2 you · answer                                              09:02   0.21"),
        (
            turn(2, source=TurnSource.AGENT),
            "2 by itself (background task ended)                         09:02   0.21",
        ),
    ],
)
def test_turn_headers(view: object, header: str) -> None:
    assert transcript([], session(view))[0] == header  # type: ignore[arg-type]


def test_a_working_turn_says_what_it_cost_so_far_and_that_it_waits() -> None:
    request = asked()
    view = session(turn(1), working(2), so_far=290_000)
    assert transcript([], view)[3] == "2 you · working                                              0.29 so far"
    waiting = session(turn(1), working(2), so_far=290_000, decisions=(decision(request, turn=working(2).id),))
    assert transcript([], waiting)[3] == "2 you · ◆ waits for you                                      0.29 so far"


def test_the_operators_text_stands_under_a_bar_and_wraps_there() -> None:
    said = "Find the cause of the flaky test, and do not just retry it until it is green.\n\n\tthen stop"
    assert transcript([], session(turn(1, said)), width=40)[1:] == [
        "▏Find the cause of the flaky test, and",
        "▏do not just retry it until it is green.",
        "▏",
        "▏    then stop",
    ]


def test_a_preamble_is_there_on_a_key() -> None:
    model = TranscriptModel()
    model.show(session(turn(1, "Fix it.", preamble="Leave a note in …")), Script().page())
    assert "with what Footplate adds to it" in shown(model)[2]
    assert not any("Leave a note" in row for row in shown(model))
    assert model.toggle(2)
    assert "▏Leave a note in …" in shown(model)


def test_turns_of_which_nothing_came_have_their_header_in_its_place() -> None:
    script = Script().say(text("one"), result()).in_turn(4).say(text("four"))
    cancelled = turn(2, state=TurnState.CANCELLED, result=None, cost=None, cost_known=None)
    model = TranscriptModel()
    model.show(session(turn(1), cancelled, turn(3), working(4), turn(5, "next")), script.page())
    heads = [row for row in shown(model) if row[:2] in ("1 ", "2 ", "3 ", "4 ", "5 ")]
    assert [row.split("  ")[0] for row in heads] == [
        "1 you · brief",
        "2 you · not sent",
        "3 you",
        "4 you · working",
        "5 you",
    ]


def test_a_header_follows_its_turn() -> None:
    model = TranscriptModel()
    model.show(session(working(1)), Script().say(text("so")).page())
    assert "working" in shown(model)[0]
    before = list(model.lines)
    model.update(session(turn(1)))
    splices = model.flush()
    assert [(s.at, s.removed, len(s.added)) for s in splices] == [(0, 2, 2)]
    assert model.lines[2:] == before[2:]
    assert shown(model)[0] == HEADER[0]


# ---------------------------------------------------------------------------------------------------------------- tools


def test_looking_is_one_line() -> None:
    looking = [
        *used("1", "Read", f"{TREE}/a.py"),
        *used("2", "Bash", "git status", command="git status && ls -la | head"),
        base.ThoughtBlock(block="t", text="hm"),
        *used("3", "Read", f"{TREE}/b.py"),
        *used("4", "Grep", "x"),
        *used("5", "Bash", "cat no", "Exit code 1", ok=False, command="cat no"),
    ]
    assert after_header(*looking) == ["  read 2 files, ran 2 commands, searched, 1 failed                     ▸"]
    rows = opened(*looking, targets=("group:1",))
    assert [row.rstrip(" ▸▾") for row in rows] == [
        "  read 2 files, ran 2 commands, searched, 1 failed",
        "  ✓ Read a.py",
        "  ✓ Bash git status",
        "  thought for a moment",
        "  ✓ Read b.py",
        "  ✓ Grep x",
        "  ■ Bash cat no                                               exit 1",
    ]


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("ls -la", True),
        ("cd src && cat a.py | head -3", True),
        ("git log --oneline", True),
        ("grep -r x . 2>/dev/null", True),
        ("sed -n 1,9p a", True),
        ("sed -i s/a/b/ a", False),
        ("cat a > b", False),
        ("ls; rm x", False),
        ("git branch -D x", False),
        ("git push", False),
        ("find . -delete", False),
        ("find . -exec rm {} +", False),
        ("echo $(rm x)", False),
        ("echo `rm x`", False),
        ("cat a | xargs rm", False),
        ("env rm x", False),
        ("pytest -q", False),
    ],
)
def test_which_commands_only_look(command: str, looks: bool) -> None:
    rows = after_header(*used("1", "Bash", command, command=command))
    assert rows[0].startswith("  ran 1 command") is looks


def test_an_edit_says_how_much_and_shows_what() -> None:
    edit = used("e", "Edit", f"{TREE}/src/a.py", old_string="a\nb\n", new_string="a\nc\nd\n")
    assert after_header(*edit) == ["✓ Edit src/a.py                                               +2  −1   ▸"]
    assert opened(*edit, targets=("tool:e",))[1:] == ["    @@ -1,2 +1,3 @@", "     a", "    -b", "    +c", "    +d"]


def test_the_agents_own_patch_counts_before_what_was_asked() -> None:
    patch = [{"oldStart": 9, "newStart": 9, "lines": [" x", "-y", "+z"]}]
    events = [started("e", "Edit", "a", old_string="y", new_string="1\n2\n3"), finished("e", structuredPatch=patch)]
    assert after_header(*events)[0].endswith("+1  −1   ▸")


def test_a_command_says_what_came_of_it() -> None:
    script = Script().say(started("b", "Bash", "pytest -q tests/checkout", command="pytest -q tests/checkout"))
    script.say(finished("b", "..F\n2 failed, 1 passed in 3.2s", ok=False), after=8.1)
    model = TranscriptModel()
    model.show(session(), script.page())
    assert shown(model)[3:] == ["✓ Bash pytest -q tests/checkout                       2 failed  8.1s   ▸"]
    assert model.toggle(3)
    assert shown(model)[4:] == ["    $ pytest -q tests/checkout", "    ..F", "    2 failed, 1 passed in 3.2s"]


def test_a_failed_command_says_its_exit() -> None:
    assert after_header(*used("b", "Bash", "make", "Exit code 2\nno rule", ok=False, command="make")) == [
        "■ Bash make                                                   exit 2   ▸"
    ]


def test_a_running_tool_and_one_that_nothing_came_of() -> None:
    assert after_header(started("b", "Bash", "make", command="make"))[0].startswith("● Bash make")
    ended = after_header(started("b", "Bash", "make", command="make"), result(TurnResultKind.INTERRUPTED))
    assert ended[0].startswith("○ Bash make")
    assert ended[1] == "■ interrupted"


def test_long_output_is_capped_and_says_how_much_is_not_shown() -> None:
    output = "\n".join(f"row {n}" for n in range(5_000))
    rows = opened(*used("b", "Bash", "make", output, command="make"), targets=("tool:b",))
    assert rows[1:4] == ["    $ make", "    row 0", "    row 1"]
    assert rows[-1] == "    row 4999"
    assert len(rows) < 210
    gap = next(row for row in rows if "o opens it all in your pager" in row)
    assert "4,800 lines" in gap


def test_a_sub_agent_works_indented_and_folds_when_it_ended() -> None:
    begun = [
        started("s", "Task", "look around", description="look around"),
        started("s1", "Read", f"{TREE}/a.py", parent="s"),
        started("s2", "Edit", f"{TREE}/a.py", parent="s", old_string="a", new_string="b"),
        base.TextBlock(block="x", text="I looked.", parent="s"),
    ]
    rows = [row.rstrip(" ▸▾") for row in after_header(*begun)]
    assert rows == [
        "● Task look around",
        "    description: look around",
        "    read 1 file  ● Read a.py",
        "  ● Edit a.py",
        "    I looked.",
    ]
    done = after_header(*begun, finished("s", "ok"))
    assert done == ["✓ Task look around                                           2 calls   ▸"]


# ------------------------------------------------------------------------------------------------------------ decisions


def test_a_decision_stays_as_a_line_of_history() -> None:
    request = asked(subject="rm -rf build")
    view = session(turn(1), decisions=(answered(request),))
    assert transcript([request], view, width=80)[3] == (
        "◆ allowed once · run a command?  rm -rf build                       09:31:02   ▸"
    )
    # Who it was is told where it was somebody else; what came of it is not cut, however narrow it gets.
    other = session(turn(1), decisions=(answered(request, answered_by="Bo"),))
    assert transcript([request], other, width=80)[3].endswith("by Bo 09:31:02   ▸")
    assert transcript([request], view, width=40)[3].startswith("◆ allowed once")
    assert transcript([request], session(turn(1), decisions=(decision(request),)), width=80)[3] == (
        "◆ asked: run a command?  rm -rf build                          waits for you   ▸"
    )


@pytest.mark.parametrize(
    ("became", "told"),
    [
        (lambda request: answered(request, "deny"), "○ Edit menu.py  denied ▸"),
        (lambda request: decision(request, DecisionState.WITHDRAWN), "○ Edit menu.py  not run ▸"),
        (lambda request: answered(request), "■ Edit menu.py  failed ▸"),
    ],
)
def test_what_was_not_allowed_has_not_failed(became: object, told: str) -> None:
    request = asked(subject="menu.py", tool="Edit", call="e")
    view = session(turn(1), decisions=(became(request),))  # type: ignore[operator]
    events = (started("e", "Edit", "menu.py"), request, finished("e", "no", ok=False))
    row = next(row for row in transcript(events, view) if "Edit" in row)
    assert row.split() == told.split()


def test_a_tool_is_not_charged_with_the_wait_for_its_answer() -> None:
    request = asked(subject="make", call="c")
    script = Script().say(started("c", "Bash", "make"), request).say(finished("c", "ok"), after=60)
    begun = script.events[0].at
    model = TranscriptModel()
    waited = answered(request, asked_at=begun, answered_at=begun + 57_000)
    model.show(session(turn(1), decisions=(waited,)), script.page())
    took = float(next(row for row in shown(model) if "make" in row).split()[-2].removesuffix("s"))
    assert took == pytest.approx((script.events[-1].at - begun - 57_000) / 1000, abs=0.1) and took < 20


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (lambda r: decision(r), "waits for you"),
        (lambda r: answered(r, "deny"), "◆ denied · run a command?"),
        (lambda r: answered(r, "allow for this run"), "◆ allowed for this run · run a command?"),
        (lambda r: answered(r, "denied: say why"), "◆ denied: “say why” · run a command?"),
        (lambda r: answered(r, "denied: no (and interrupted)"), "◆ denied: “no” (and interrupted) · run a command?"),
        (lambda r: answered(r, "the second"), "◆ answered “the second” · run a command?"),
        (lambda r: decision(r, DecisionState.WITHDRAWN), "no longer asked"),
        (lambda r: decision(r, DecisionState.UNCERTAIN), "outcome unknown: the agent was cut off"),
        (
            lambda r: decision(r, DecisionState.UNCERTAIN, note="it could not be made again exactly"),
            "not sent: it could not be made again exactly; say it anew",
        ),
    ],
)
def test_what_became_of_a_decision(view: object, said: str) -> None:
    request = asked(subject="x")
    told = view(request)  # type: ignore[operator]
    assert said in transcript([request], session(turn(1), decisions=(told,)), width=100)[3]
    # A backend that does not tell the request's id is understood by what was asked.
    like = type(told)(**{name: getattr(told, name) for name in told.__slots__} | {"request": ""})
    assert said in transcript([request], session(turn(1), decisions=(like,)), width=100)[3]


def test_the_same_question_twice_has_its_own_outcome_each_time() -> None:
    script = Script().say(asked("r1"), after=10).say(asked("r2"), after=60).say(asked("r3"), after=60)
    first = answered(asked("r1"), "allow once", request="", asked_at=script.events[0].at)
    second = answered(asked("r2"), "deny", request="", asked_at=script.events[1].at, id=2)
    model = TranscriptModel()
    model.show(session(turn(1), decisions=(second, first)), script.page(start=1))
    assert ["denied" in row for row in shown(model, 100)[3:]] == [True, False]
    model.prepend(script.page(stop=1))
    told = [row.split("?")[0] for row in shown(model, 100)[3:]]
    assert "allowed once" in told[0] and "denied" in told[1] and told[2].startswith("◆ asked")


def test_a_withdrawn_request_says_so_though_no_view_tells_it() -> None:
    assert "no longer asked" in after_header(asked(), base.DecisionWithdrawn(request="r1"))[0]


def test_a_question_is_one_line_and_opens_to_its_choices() -> None:
    question = base.Question(text="Which way?", choices=(base.Choice(label="left", description="short"),))
    request = asked(
        kind=DecisionKind.QUESTION, title="Which way?", subject="", tool="AskUserQuestion", questions=(question,)
    )
    events = (started("q", "AskUserQuestion", "Which way?"), request, finished("q", "answered"))
    assert len(after_header(*events)) == 1
    assert "    · left  short" in opened(*events, targets=("decision:r1",))


# -------------------------------------------------------------------------------------------------------------- notices


def test_notices_are_one_dim_line_each_and_retries_take_each_others_place() -> None:
    assert after_header(
        base.RetryNotice(attempt=1, of=10, wait_seconds=2, why="overloaded"),
        base.RetryNotice(attempt=2, of=10, wait_seconds=4, why="overloaded"),
        base.LimitNotice(status="allowed", kind="five_hour"),
        base.LimitNotice(status="rejected", kind="five_hour", resets_at=1_793_275_200),
        base.Compacted(before=160_000, after=22_000),
        base.Notice(text="fell back to another model"),
        base.Unknown(raw="x" * 100),
        base.Unknown(raw="y" * 23),
        base.Stderr(text="never shown"),
        base.BackgroundChanged(
            tasks=(base.BackgroundTask(id="1", kind="shell", title="pytest --watch", state="done"),)
        ),
    ) == [
        "· trying again in 4s, attempt 2 of 10: overloaded",
        "· the account's limit is reached (five hour, until 12:00)",
        "· the conversation was shortened: 160k → 22k tokens",
        "  fell back to another model",
        "· 2 unreadable lines kept (123 bytes)",
        "✓ the background task has ended: pytest --watch",
    ]


def test_an_error_says_what_to_do_and_the_agents_own_words() -> None:
    rows = after_header(
        text("half an ans"),
        result(TurnResultKind.ERROR, failure=FailureKind.RATE_LIMITED, failure_text="429 slow down"),
    )
    assert rows == [
        "  half an ans",
        "",
        "■ the account's limit is reached: start again when it resets; /usage in",
        "  claude says when",
        "  429 slow down",
    ]


def test_what_was_cut_off_says_so() -> None:
    assert after_header(text("half", aborted=True)) == ["  half", "  ⋯ cut off here"]


def test_no_word_of_the_code_is_shown() -> None:
    view, script = rich_conversation()
    assert [word for row in transcript([e.event for e in script.kept], view) for word in forbidden_in(row)] == []


def test_ascii_glyphs() -> None:
    model = TranscriptModel(ASCII)
    model.show(session(), Script().say(*used("e", "Edit", "a", old_string="a", new_string="b")).page())
    assert shown(model)[-1].startswith("+ Edit a") and shown(model)[-1].endswith(">")


def test_a_command_begun_in_the_background_is_not_told_as_done() -> None:
    begun = finished("c", "running", backgroundTaskId="b1")
    rows = transcript([started("c", "Bash", "sleep 3600"), begun], session(turn(1)), width=80)
    row = next(row for row in rows if "sleep 3600" in row)
    assert row.startswith("· Bash") and "in the background" in row
