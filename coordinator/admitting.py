"""From signed terms to a held session: one transaction that admits the run, then the actor that will start it.

Whether it may be admitted is decided in ``recording``; that the actor's task is begun, and by whom it is stopped, is
the coordinator's.
"""

from coordinator import imagefiles, proposing, recording, steps
from coordinator.api import StartRun
from coordinator.drivers import registry
from coordinator.house import House
from coordinator.recording import Claim
from coordinator.session import HeldSession
from coordinator.steps import Step
from store import authorizations, runs
from store.db import Tx
from store.refusal import Refusal
from store.vocab import RefusalReason


async def admit(house: House, command: StartRun, who: str, claim: Claim | None = None) -> HeldSession | Refusal:
    """The session of a run that stands in the ledger and that nobody has begun yet.

    ``claim``: it is an attempt at a task, and is one in the same transaction or not at all.
    """
    terms = command.terms
    if house.shutting:
        return Refusal(RefusalReason.SHUTTING_DOWN)
    profile = next((one for one in house.profiles if one.name == terms.agent), None)
    driver = registry.create(terms.driver, house.ids.secret()[:6])
    if profile is None or driver is None:
        names = ", ".join(one.name for one in house.profiles)
        return Refusal(RefusalReason.UNKNOWN_AGENT, {"agent": terms.agent, "agents": names})
    images = await imagefiles.taken(house, driver.capabilities, terms.agent, command.images)
    if isinstance(images, Refusal):
        return images
    given = recording.Admission(
        incarnation=house.incarnation,
        operator=who,
        max_held_sessions=house.settings.max_held_sessions,
        pools=house.pools(house.clock.now()),
        claim=claim,
    )
    title = command.title or ("" if terms.continues else proposing.retitle(house.redactor.text(terms.instruction)))
    authorization = house.ids.authorization()
    if authorization in house.used_elsewhere:
        return Refusal(RefusalReason.AUTHORIZATION_SPENT)

    def write(tx: Tx) -> tuple[runs.Run, recording.EffectiveLimits] | Refusal:
        run = recording.admit(tx, given, terms=terms, authorization=authorization, title=title)
        if isinstance(run, Refusal):
            return run
        signed = authorizations.get(tx, authorization)
        assert signed is not None
        return run, recording.effective_limits(tx, signed, terms)

    admitted = await house.ledger.transaction(write)
    if isinstance(admitted, Refusal):
        return admitted
    run, limits = admitted
    steps.reach(Step.ADMITTED)
    session = HeldSession(
        house,
        run=run.id,
        custody_id=house.ids.custody(),
        terms=terms,
        profile=profile,
        driver=driver,
        operator=who,
        limits=limits,
    )
    session.brief_images = images
    await session.refresh()
    return session
