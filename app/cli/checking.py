"""``tree RUN check``: the checks of an ended run once more, held as a console holds them. It needs no console."""

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

from app.cli import printing
from app.cli.exits import Code, refused
from app.cli.ledgerbooks import Books
from app.cli.report import CheckReport, print_check
from app.cli.surroundings import agent_profiles
from coordinator import checkruns
from coordinator.checktypes import CheckState
from coordinator.redaction import Redactor, secrets_of
from store.refusal import Refusal
from store.vocab import RefusalReason, RunId

if TYPE_CHECKING:
    from app.cli.surroundings import Surroundings
    from coordinator.agentprofile import AgentProfile


def check(here: "Surroundings", run: RunId, *, as_json: bool) -> int:
    """
    Raises:
        Leave: there is nothing to check it by, or nothing to check.
    """
    if not here.paths.ledger.exists():
        raise refused(Refusal(RefusalReason.NO_SUCH_RUN, {"run": run}), as_json=as_json)
    profiles = agent_profiles(here.paths, here.config, as_json=as_json)
    secrets = secrets_of(os.environ).union(*(secrets_of(dict(one.env)) for one in profiles))
    reports = asyncio.run(_check(here, run, profiles, Redactor(secrets), as_json=as_json))
    if isinstance(reports, Refusal):
        raise refused(reports, as_json=as_json)
    if as_json:
        printing.as_json({"run": run, "checks": reports})
    return Code.DONE if all(one.check.state is CheckState.PASSED for one in reports) else Code.REFUSED


async def _check(
    here: "Surroundings",
    run: RunId,
    profiles: "tuple[AgentProfile, ...]",
    redactor: Redactor,
    *,
    as_json: bool,
) -> list[CheckReport] | Refusal:
    books = Books(here.paths)
    wanted = await books.read(
        lambda tx: checkruns.of_run(
            tx,
            run,
            profiles={one.name: one for one in profiles},
            configured=here.config.checks,
            environment=os.environ,
        )
    )
    if isinstance(wanted, Refusal):
        return wanted
    told: list[CheckReport] = []
    async with checkruns.alone_in(wanted.tree) as busy:
        if busy is not None:
            return busy
        for command in wanted.checks.commands:
            checked = await checkruns.run_one(
                command,
                tree=wanted.tree,
                environment=wanted.environment,
                seconds=wanted.checks.seconds,
                redactor=redactor,
            )
            await books.transaction(partial(checkruns.book, run=run, checked=checked))
            told.append(CheckReport(check=checked.view, output=checked.output))
            if not as_json:
                print_check(told[-1])
    return told
