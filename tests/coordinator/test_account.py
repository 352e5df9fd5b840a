"""What an agent is told of a run whose conversation it does not have: bounded, the newest kept, nothing cut unsaid."""

from hypothesis import given, strategies as st

from coordinator.account import MOST, Before, ToldTurn, carried, of_runs

BEFORE = Before(run=12, end="the operator stopped it", cut_off=False)


def turn(n: int, said: str = "do it", words: str = "done", tools: tuple[str, ...] = ("Bash: make",)) -> ToldTurn:
    return ToldTurn(run=12, n=n, by="the operator", said=said, tools=tools, more_tools=False, last_words=words, end="")


TEXT = st.text(alphabet=st.sampled_from("aß字😀\n "), max_size=40).map(lambda text: text * 200)
TURNS = st.lists(st.builds(turn, st.integers(1, 99), TEXT, TEXT), max_size=40)


@given(task=TEXT, turns=TURNS)
def test_an_account_is_never_larger_than_said_and_says_what_it_leaves_out(task: str, turns: list[ToldTurn]) -> None:
    said = of_runs(BEFORE, task, turns, older=3)
    assert len(said.encode()) <= MOST
    kept = said.count("Run 12, turn ")
    assert f"left out: {3 + len(turns) - kept}" in said


def test_the_newest_turns_are_kept_in_their_order() -> None:
    said = of_runs(BEFORE, "mend the roof", [turn(n, words="w" * 1_900) for n in range(1, 41)])
    numbers = [int(line.split("turn ")[1].split(",")[0]) for line in said.splitlines() if line.startswith("Run 12")]
    assert numbers == list(range(41 - len(numbers), 41)) and 5 < len(numbers) < 40
    assert "mend the roof" in said and "Nothing was done" not in said
    assert "Nothing was done yet" in of_runs(BEFORE, "mend the roof", [])


def test_answers_and_messages_ride_whole_whatever_their_length() -> None:
    long = "x" * (2 * MOST)
    said = carried(BEFORE, "", ["Answer to your question 4."], [long, "the door too"])
    assert long in said and said.index(long) < said.index("the door too") and "Answer to your question 4." in said
    assert "run 12" in said and "cut off" not in said
    cut = carried(Before(run=12, end="it broke off", cut_off=True, asked=("Red?",)), "", [], [])
    assert "cut off in the middle" in cut and "- Red?" in cut
