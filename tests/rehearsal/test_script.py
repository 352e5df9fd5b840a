"""The script language: what is a script, what is a mistake in one, and which turn answers which text."""

import subprocess
import sys
from pathlib import Path

import pytest

from coordinator.rehearsal.script import SCRIPTS, Script, ScriptFault, Step, Turn, directive, load
from tests.rehearsal.conftest import AGENT


def written(folder: Path, text: str) -> str:
    path = folder / "one.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.toml")))
def test_every_script_that_ships_can_be_played(name: str) -> None:
    script = load(name)
    assert script.about
    assert all(turn.steps for turn in script.turns)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("pace = ", "is not TOML"),
        ("pace = 1", "it has no [[turn]]"),
        ("pase = 1", "unknown key 'pase', perhaps 'pace' is meant"),
        ("[[turn]]\nsteps = [{ sey = 'x' }]", "turn 1, step 1 has an unknown key 'sey', perhaps 'say' is meant"),
        ("[[turn]]\nsteps = [{ say = 1 }]", "'say' must be str"),
        ("[[turn]]\nsteps = [{ cost = '1' }]", "'cost' must be a number"),
        ("[[turn]]\nsteps = [{ run = 'a', read = 'b' }]", "has both 'run' and 'read'"),
        ("[[turn]]\nsteps = [{ do = 'explod' }]", "nothing is known as do = 'explod'"),
        ("[[turn]]\nsteps = [{ do = 'garbage', code = 1 }]", "unknown key 'code'"),
        ("[[turn]]\nsteps = [{ do = 'ignore', what = 'rain' }]", "not 'rain'"),
        ("[[turn]]\nsteps = [{ say = 'x', only = 'maybe' }]", "only = 'maybe'"),
        ("[[turn]]\nsteps = [{ plan = [['soon', 'x']] }]", "a plan item is"),
        ("[[turn]]\nsteps = [{ tools = [{ input = {} }] }]", "a tool needs a name"),
    ],
)
def test_a_mistake_is_one_clear_sentence(tmp_path: Path, text: str, complaint: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ScriptFault) as caught:
        load(path)
    told = str(caught.value)
    assert complaint in told
    assert path in told
    assert "\n" not in told
    ran = subprocess.run(
        [sys.executable, "-I", str(AGENT), "--script", path], capture_output=True, text=True, timeout=20
    )
    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (2, "", told)


def test_an_unknown_script_names_those_that_ship() -> None:
    with pytest.raises(ScriptFault, match=r"those that ship are:.*demo"):
        load("nosuch")


def test_turns_are_chosen_by_word_then_in_order_then_by_default() -> None:
    def turn(word: str, when: str | None = None, default: bool = False) -> Turn:
        return Turn(steps=(Step(text=word),), when=when, default=default)

    script = Script(name="x", turns=(turn("one"), turn("two"), turn("ship", when="Deploy"), turn("rest", default=True)))
    played, said = 0, []
    for text in ("a", "please deploy", "b", "c", "d"):
        steps, played = script.choose(text, played)
        said.append(steps[0].text)
    assert said == ["one", "ship", "two", "rest", "rest"]


def test_without_a_default_the_last_turn_goes_on_answering() -> None:
    script = Script(name="x", turns=(Turn(steps=(Step(text="one"),)), Turn(steps=(Step(text="last"),))))
    assert script.choose("x", 2)[0][0].text == "last"


def test_the_last_directive_in_a_text_counts() -> None:
    steps = directive('first @@{"steps": [{"text": "a"}]}@@ then @@{"text": "b", "repeat": 2}@@')
    assert [step.text for step in steps] == ["b", "b"]


def test_a_bad_directive_is_said_and_not_died_of() -> None:
    assert (directive("@@{nonsense}@@")[0].text or "").startswith("bad directive")
    assert "unknown key" in (directive('@@{"sey": "x"}@@')[0].text or "")
