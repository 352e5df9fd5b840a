"""A question card's form: which choices are picked, what is still unanswered, and the reply it makes. Pure.

Nothing is picked to begin with, and a question left out is said in words before the form goes, never filled in.
"""

from msgspec import Struct
from msgspec.structs import replace

from coordinator.drivers.base import Question, QuestionReply


class Form(Struct, frozen=True, kw_only=True):
    questions: tuple[Question, ...]
    chosen: tuple[tuple[int, ...], ...]
    free: tuple[str, ...]
    """An answer in the operator's own words, '' for none; it takes the place of choices."""
    at: int = 0
    cursor: int | None = None
    """Where Space toggles; None until an arrow was pressed."""
    told: bool = False
    """The unanswered ones were listed; the next Enter sends without them."""
    note: str = ""


def new_form(questions: tuple[Question, ...]) -> Form:
    return Form(questions=questions, chosen=tuple(() for _ in questions), free=tuple("" for _ in questions))


def simple(form: Form) -> bool:
    """One question, one choice: a digit is the whole answer."""
    return len(form.questions) == 1 and not form.questions[0].multiple


def answered(form: Form, index: int) -> bool:
    return bool(form.chosen[index] or form.free[index])


def unanswered(form: Form) -> tuple[int, ...]:
    return tuple(index for index in range(len(form.questions)) if not answered(form, index))


def pick(form: Form, choice: int) -> Form:
    """Choose, or toggle where several may be chosen. A single choice goes on to the next unanswered question."""
    question = form.questions[form.at]
    if choice >= len(question.choices):
        return form
    before = form.chosen[form.at]
    if question.multiple:
        after = tuple(sorted(set(before) ^ {choice}))
        return _put(form, after, form.free[form.at])
    return _onward(_put(form, (choice,), ""))


def say(form: Form, text: str) -> Form:
    """Answer the question in front in own words; beside choices where several may be chosen, else instead of them."""
    question = form.questions[form.at]
    keep = form.chosen[form.at] if question.multiple else ()
    put = _put(form, keep, text)
    return _onward(put) if text and not question.multiple else put


def _put(form: Form, chosen: tuple[int, ...], free: str) -> Form:
    at = form.at
    return replace(
        form,
        chosen=(*form.chosen[:at], chosen, *form.chosen[at + 1 :]),
        free=(*form.free[:at], free, *form.free[at + 1 :]),
        told=False,
    )


def _onward(form: Form) -> Form:
    later = [index for index in unanswered(form) if index > form.at]
    return replace(form, at=later[0], cursor=None) if later else form


def move(form: Form, by: int) -> Form:
    """The cursor among the choices."""
    count = len(form.questions[form.at].choices)
    if not count:
        return form
    if form.cursor is None:
        return replace(form, cursor=0 if by > 0 else count - 1)
    return replace(form, cursor=min(max(form.cursor + by, 0), count - 1))


def turn_to(form: Form, by: int) -> Form:
    at = min(max(form.at + by, 0), len(form.questions) - 1)
    return replace(form, at=at, cursor=None) if at != form.at else form


def toggle(form: Form) -> Form:
    return pick(form, form.cursor) if form.cursor is not None else form


def complete(form: Form) -> bool:
    return not unanswered(form)


def tell(form: Form) -> Form:
    """Mark that the unanswered ones were said."""
    return replace(form, told=True)


def reply(form: Form) -> QuestionReply:
    answers: dict[str, tuple[str, ...]] = {}
    for index, question in enumerate(form.questions):
        labels = tuple(question.choices[choice].label for choice in form.chosen[index])
        own = (form.free[index],) if form.free[index] else ()
        if labels or own:
            answers[question.text] = (*labels, *own)
    return QuestionReply(answers=answers, note=form.note)
