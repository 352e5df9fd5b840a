"""Numbers before nouns: ``1 turn``, ``2 turns``, in every sentence, by the one helper that knows how."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import app
from app import wording, wording_leaving, wording_queue, wording_refusals, wording_tasks
from app.console.views.limits import limit_face
from coordinator.api import Extend, TaskReason, Waits
from store.refusal import Refusal
from store.vocab import MicroUsd, Millis, RefusalReason, RunId
from tests.cli.made import NOW, made_terms
from tests.cli.test_queue import series_terms
from tests.console.scenes import make_session

FOLDER = Path(app.__file__).parent
TREES = {path: ast.parse(path.read_text()) for path in FOLDER.rglob("*.py")}


def _nouns() -> dict[str, str]:
    """Every noun that the helper is asked for anywhere, with its plural; the last word where it is several."""
    found = {}
    for call in (node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        words = [one.value for one in call.args[1:] if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in ("plural", "noun") and words:
            one = words[0].split()[-1]
            found[one] = words[1].split()[-1] if len(words) > 1 else one + "s"
    return found


NOUNS = _nouns()
_MANY = "|".join(NOUNS.values())
_BETWEEN = "(?:(?:more|new|other|standing|unreadable) )?"
_AFTER = re.compile(rf"^ {_BETWEEN}(?:{_MANY})\b")
_WRONG = re.compile(rf"(?<![\d.,:])1 {_BETWEEN}(?:{_MANY})\b|(?<![\d.,:])2 {_BETWEEN}(?:{'|'.join(NOUNS)})\b", re.I)


def test_the_nouns_are_found() -> None:
    assert NOUNS["turn"] == "turns" and NOUNS["process"] == "processes" and len(NOUNS) > 30
    assert _WRONG.search("extend by 1 turns") and _WRONG.search("2 standing rule") and not _WRONG.search("11 turns")


@pytest.mark.parametrize("path", sorted(TREES), ids=lambda path: str(path.relative_to(FOLDER)))
def test_no_sentence_writes_a_plural_behind_a_number_by_itself(path: Path) -> None:
    for text in (node for node in ast.walk(TREES[path]) if isinstance(node, ast.JoinedStr)):
        for value, after in zip(text.values, text.values[1:], strict=False):
            if not isinstance(value, ast.FormattedValue) or not isinstance(after, ast.Constant):
                continue
            if _AFTER.match(str(after.value)) and not _always_many(value.value):
                raise AssertionError(
                    f"line {text.lineno}: {ast.unparse(value)}{after.value!r} is for plural() or noun()"
                )


def _always_many(value: ast.expr) -> bool:
    """A constant of ours, as ``MOST_OPTIONS``."""
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return bool(name) and name.lstrip("_").isupper()


_ALWAYS_MANY = {RefusalReason.SOCKET_PATH, RefusalReason.TURN_TOO_LARGE}
"""Said of a number that is beyond a hundred, and of one that is beyond a million."""


def _every_sentence(n: int) -> Iterator[str]:
    """What the catalogues say where each number in it is ``n``."""
    for reason in set(RefusalReason) - _ALWAYS_MANY:
        template = wording_refusals._TEMPLATES[reason]
        facts = {name: n for names in re.findall(r"\{([a-z_,]+)", template) for name in names.split(",")}
        yield wording.sentence(Refusal(reason, facts))
    for waits in Waits:
        yield wording_queue.waits_sentence(waits, {"more": n, "task": n, "run": n, "held": n, "limit": n})
    for why in TaskReason:
        yield wording_queue.reason_sentence(why, {"decision": n, "was": n, "is": n})
    rules = ("allow command pytest", "allow edit src/**")[:n]
    yield wording.terms_sentence(made_terms(max_turns=n, working_seconds=n * 60, rules=rules), NOW)
    terms = series_terms(attempts=n, max_turns=n, rules=rules, budget=None)
    yield wording_tasks.series_sentence(terms, NOW)
    yield wording_tasks.at_most([replace(terms, billing="key")] * n)
    more = Extend(run=RunId(1), money=MicroUsd(n * 1_000_000), turns=n, working_seconds=n * 60, seconds=n * 3600)
    yield wording_leaving.extension_sentence(
        more, agent="claude", budget=None, max_turns=n, working_seconds=None, expires_at=Millis(NOW), now=NOW
    )
    session = make_session(4, "at its limit")
    budget = replace(session.budget, turns=n, max_turns=n, limit=None)
    face = limit_face(replace(session, budget=budget, at_budget=True), 80)
    yield from (option.label for option in face.options)
    yield from ("".join(span.text for span in row) for row in face.body)


@pytest.mark.parametrize("n", [1, 2])
def test_every_sentence_of_the_catalogues_with_one_and_with_two(n: int) -> None:
    said = list(_every_sentence(n))
    assert len(said) > 80 and any(re.search(rf"\b{n} turns?\b", one) for one in said)
    assert [one for one in said if _WRONG.search(one)] == []
