"""What Footplate says to an agent names the files that it reads, in the form that it accepts."""

import json
import re

from coordinator import preamble
from coordinator.mailbox import ParkedQuestion, parse_decision


def test_the_form_that_is_shown_is_one_that_is_accepted() -> None:
    for said in (preamble.text(12), preamble.repair_text(12, ["it was empty"])):
        form = re.search(r"^\{$.*?^\}$", said, re.MULTILINE | re.DOTALL)
        assert form is not None
        shown = json.loads(form[0])
        assert set(shown) == {"question", "context", "options", "recommendation", "multiple"}
        shown["recommendation"] = shown["options"][0]["label"]
        assert isinstance(parse_decision(json.dumps(shown).encode()), ParkedQuestion)


def test_the_brief_names_both_files_and_stays_short() -> None:
    said = preamble.text(12)
    assert ".footplate/12/decision.json" in said and ".footplate/12/handoff.md" in said and "64 KiB" in said
    assert len(said) < 1600


def test_a_repair_says_every_problem() -> None:
    said = preamble.repair_text(3, ['"question" is missing', "option 2: x"])
    assert '- "question" is missing\n- option 2: x\n' in said and ".footplate/3/decision.json" in said
    assert preamble.repair_text(3, "a; b") == preamble.repair_text(3, ["a", "b"])


def test_an_answer_says_which_what_and_who() -> None:
    said = preamble.answer_text(decision=9, question="Red?", chosen="Red, Blue", note="be quick", operator="ada")
    assert said.split("\n") == [
        "Answer to your question 9, by ada.",
        "You asked: Red?",
        "The answer: Red, Blue",
        "Note: be quick",
    ]
    assert "see the note" in preamble.answer_text(decision=9, question="q", chosen="", note="n", operator="")
