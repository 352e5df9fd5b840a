"""What the agent of a profile can do, as its driver declares it, before anything of it runs.

One driver may know more of some agents than of others, so it is told which one is meant, by the way every start tells
it. Nothing of a machine is looked at here.
"""

from msgspec.structs import replace

from coordinator.agentprofile import PER_RUN, AgentProfile
from coordinator.drivers import registry
from coordinator.drivers.base import Capabilities, Start


def capabilities(profile: AgentProfile) -> Capabilities | None:
    """None: there is no such driver."""
    driver = registry.create(profile.driver, "p")
    if driver is None:
        return None
    driver.argv(
        Start(
            program=profile.program,
            session="",
            agent=profile.name,
            model=profile.model,
            mode=profile.mode,
            extra_args=profile.args,
        )
    )
    able = driver.capabilities
    # Its conversation goes with a home of the run's own.
    return replace(able, resumes=False) if profile.home == PER_RUN else able
