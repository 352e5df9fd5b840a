from hypothesis import given, strategies as st

from app.console.views.transcript import TranscriptModel
from app.console.views.transcript_lines import Line, count_rows, rows_of
from app.console.views.transcript_rows import RowIndex
from coordinator.drivers import base
from tests.console.transcript.conversation import Script, finished, result, session, started, text, working

COUNTS = st.lists(st.integers(1, 4), max_size=1_600)


@given(
    COUNTS,
    st.lists(
        st.tuples(st.integers(0, 2_000), st.integers(0, 700), st.lists(st.integers(1, 4), max_size=60)), max_size=6
    ),
)
def test_splices_keep_the_sums(counts: list[int], splices: list[tuple[int, int, list[int]]]) -> None:
    index, naive = RowIndex(), list(counts)
    index.rebuild(counts)
    for at, removed, added in splices:
        at = min(at, len(naive))
        naive[at : at + removed] = added
        index.splice(at, removed, added)
    assert index.total == sum(naive) and len(index) == len(naive)
    for line in range(0, len(naive), 97):
        assert index.row_of(line) == sum(naive[:line])
        assert index.locate(index.row_of(line)) == (line, 0)
        assert index.locate(index.row_of(line) + naive[line] - 1) == (line, naive[line] - 1)
    assert index.row_of(len(naive)) == index.total


EVENTS = st.lists(
    st.sampled_from(
        [
            base.TextDelta(block="a", text="some words\n"),
            base.TextDelta(block="b", text="and more "),
            text("**done** at last\nyes", "a"),
            text("done too", "b"),
            base.ThoughtDelta(block="t", text="hm"),
            base.ThoughtBlock(block="t", text="hm hm"),
            started("1", "Read", "x"),
            started("2", "Edit", "y", old_string="a", new_string="b"),
            started("3", "Task", "z"),
            started("4", "Grep", "q", parent="3"),
            base.TextDelta(block="c", text="inner", parent="3"),
            finished("1", "out"),
            finished("2"),
            finished("3", "sub"),
            finished("4"),
            base.RetryNotice(attempt=1, of=2, wait_seconds=1, why="w"),
            base.Unknown(raw="?"),
            result(),
            "flush",
            "toggle",
            "turn",
        ]
    ),
    max_size=40,
)


@given(EVENTS, st.integers(0, 30))
def test_carried_out_splices_always_give_the_models_lines(steps: list[object], place: int) -> None:
    """Whatever comes in whatever order, a reader of the splices sees what a reader of everything sees."""
    model, script = TranscriptModel(), Script()
    mirror: list[Line] = []

    def carry_out() -> None:
        for splice in model.flush():
            mirror[splice.at : splice.at + splice.removed] = splice.added
        assert mirror == model.lines

    for splice in model.show(session(working(1)), Script().page()):
        mirror[splice.at : splice.at + splice.removed] = splice.added
    n = 1
    for step in steps:
        if step == "flush":
            carry_out()
        elif step == "toggle":
            carry_out()
            model.toggle(place)
        elif step == "turn":
            n += 1
            script.in_turn(n)
            model.update(session(*(working(k) for k in range(1, n + 1))))
        else:
            script.say(step)  # type: ignore[arg-type]
            model.feed(script.events[-1:])
    carry_out()


@given(st.text(st.sampled_from("ab 日👩é"), max_size=80), st.integers(1, 50), st.booleans())
def test_the_count_is_the_number_of_rows(said: str, width: int, by_word: bool) -> None:
    for lead in ("", "  ", "▏"):
        line = Line(((said, "agent"),) if said else (), (lead, ""), (lead, ""), by_word=by_word)
        assert count_rows(line, width) == len(rows_of(line, width))
