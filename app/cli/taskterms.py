"""Terms of tasks shown and agreed to: each sentence once, with the tasks that it is for, then one Enter for all."""

import sys
from collections.abc import Sequence

from app.cli import printing, taskdesk
from app.cli.exits import Code, note, usage
from app.cli.opening import take_enter
from app.cli.surroundings import Surroundings
from app.wording import sentence
from app.wording_tasks import about_task, at_most, keeps, series_remarks, series_sentence, tasks_words
from coordinator.api import Done, ProposeSeries, SeriesProposal, SeriesProposals, SignSeries
from coordinator.clock import RealClock
from store.vocab import Millis, TaskId

_TITLES = 8
"""Of the tasks that have the same terms, so many are named; the others are in ``queue ls``."""


def agree(
    here: Surroundings, tasks: Sequence[TaskId], *, yes: bool, as_json: bool, added: Sequence[TaskId] | None = None
) -> int:
    """``added``: they were put in line by this command, and stay there whatever is said to their terms.

    Raises:
        Leave: an order was refused.
    """
    if not yes and (as_json or not sys.stdin.isatty()):
        raise usage("Nobody can be asked here to agree to the terms: add --yes to agree without being asked.")
    if not here.paths.ledger.exists():
        # Nothing can be in line; looking makes no ledger.
        proposals = SeriesProposals(proposals=())
    else:
        proposals = taskdesk.done(here, ProposeSeries(tasks=tuple(tasks)), SeriesProposals, as_json=as_json)
    offered = proposals.proposals
    refused = [(task, sentence(refusal)) for task, refusal in proposals.refused]
    if not as_json:
        show(offered, RealClock().now())
    for task, said in refused:
        note(about_task(task, said))
    agreed: tuple[TaskId, ...] = ()
    if offered:
        if not yes:
            take_enter(
                "Enter agrees to these terms, Ctrl-C leaves them for later: ",
                "Not agreed to: only a bare Enter agrees. footplate queue agree shows the terms again.",
            )
        taskdesk.done(here, SignSeries(terms=tuple(one.terms for one in offered)), Done, as_json=as_json)
        agreed = tuple(one.terms.task for one in offered)
    _told(agreed, refused, offered, added, as_json=as_json)
    return Code.REFUSED if refused else Code.DONE


def _told(
    agreed: Sequence[TaskId],
    refused: Sequence[tuple[TaskId, str]],
    offered: Sequence[SeriesProposal],
    added: Sequence[TaskId] | None,
    *,
    as_json: bool,
) -> None:
    if as_json:
        answer: dict[str, object] = {} if added is None else {"added": list(added)}
        answer |= {
            "agreed": list(agreed),
            "refused": [{"task": task, "sentence": said} for task, said in refused],
            "terms": [one.terms for one in offered],
        }
        printing.as_json(answer)
    elif agreed:
        it, its = ("it", "its") if len(agreed) == 1 else ("them", "their")
        begins = f"An open console begins {it} when {its} turn comes"
        printing.sentence(f"Agreed. {begins}; footplate queue ls shows the line.")
    elif not refused:
        printing.sentence("No task waits for you to agree to its terms.")


def show(offered: Sequence[SeriesProposal], now: Millis) -> None:
    """Each sentence once: ten thousand tasks of one repository are one sentence."""
    same: dict[tuple[str, ...], list[SeriesProposal]] = {}
    for one in offered:
        same.setdefault((series_sentence(one.terms, now), *series_remarks(one)), []).append(one)
    for (said, *remarks), which in same.items():
        numbers_ = [one.terms.task for one in which]
        printing.sentence(printing.one_line(f"{tasks_words(numbers_)}: {said}", 2000))
        for remark in remarks:
            printing.sentence(f"  {printing.one_line(remark, 400)}")
        for one in which[:_TITLES]:
            _show_one(one, alone=len(offered) == 1)
        if len(which) > _TITLES:
            printing.sentence(f"  … and {len(which) - _TITLES} more; footplate queue ls has them all")
    if len(offered) > 1 and (total := at_most(one.terms for one in offered)):
        printing.sentence(total)


def _show_one(one: SeriesProposal, *, alone: bool) -> None:
    """What is its own among tasks with the same terms: its title and the paths that it keeps."""
    kept = printing.one_line(keeps(one.terms), 200)
    if not alone:
        printing.sentence(f"  {one.terms.task}  {printing.one_line(one.title, 70)}{f' ({kept})' if kept else ''}")
    elif kept:
        printing.sentence(f"  It {kept}.")
