"""What Footplate itself says to an agent: the end of a brief, a request to write a note again, an answer to a note.

All of it is shown to the operator before it is signed or kept with the turn, so it is short and plain, and it stands
in one place. Pure text from values; when which of them is sent is the machine's matter.
"""

from collections.abc import Sequence

from coordinator.constants import MAILBOX_BYTES
from coordinator.parkednote import DECISION, HANDOFF, folder_of

_FORM = """{
  "question": "one clear question",
  "context": "what one must know to answer it (may be left out)",
  "options": [{"label": "short name", "description": "what it means"}],
  "recommendation": "the label you would choose (may be left out)",
  "multiple": false
}"""


def text(run: int) -> str:
    """Added to the brief."""
    return f"""\
How to leave a note for the operator (this part is from Footplate, which runs this session):

- To stop and ask something that you should not decide alone, write {folder_of(run)}/{DECISION} and end your turn. \
The answer comes as your next message. The form, as JSON:
{_FORM}
  Leave "options" out for an open question; set "multiple" to true where several may be chosen.
- When the work is finished, write {folder_of(run)}/{HANDOFF}: what you did, what is left, what to look at first. \
It ends the session, so write it last and only when you are finished.

Both are plain UTF-8 files of at most {MAILBOX_BYTES // 1024} KiB, in the working tree. They are taken away once read \
and are no part of your changes: never commit them."""


def repair_text(run: int, problems: str | Sequence[str]) -> str:
    """Asks for a decision file again that could not be read."""
    found = problems.split("; ") if isinstance(problems, str) else problems
    listed = "\n".join(f"- {problem}" for problem in found)
    return f"""\
Footplate could not read {folder_of(run)}/{DECISION}, so the operator has not seen your question:
{listed}

Please write the file again in this form, and end your turn:
{_FORM}
If you no longer need an answer, do not write it, and go on."""


def answer_text(*, decision: int, question: str, chosen: str, note: str, operator: str) -> str:
    """One answer, as (part of) a turn. ``chosen`` is spelled out: *the recommendation* was made a choice before."""
    by = f", by {operator}" if operator else ""
    lines = [f"Answer to your question {decision}{by}.", f"You asked: {question}", f"The answer: {chosen}"]
    if not chosen:
        lines[2] = "The answer: none of the options; see the note."
    if note:
        lines.append(f"Note: {note}")
    return "\n".join(lines)
