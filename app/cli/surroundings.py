"""What every command begins with: folders, configuration, profiles, the operator's name. A bad file is refused here."""

from typing import TYPE_CHECKING

from msgspec import Struct

from app.cli.exits import refused
from app.config import Config, load, operator_name, unknown_agent
from app.paths import Paths, find
from store.refusal import Refusal

if TYPE_CHECKING:
    from coordinator.agentprofile import AgentProfile


class Surroundings(Struct, frozen=True, kw_only=True):
    paths: Paths
    config: Config
    operator: str


def surroundings(*, as_json: bool = False) -> Surroundings:
    """
    Raises:
        Leave: the configuration cannot be used.
    """
    paths = find()
    config = load(paths)
    if isinstance(config, Refusal):
        raise refused(config, as_json=as_json)
    return Surroundings(paths=paths, config=config, operator=operator_name(config))


def agent_profiles(paths: Paths, config: Config, *, as_json: bool = False) -> "tuple[AgentProfile, ...]":
    """
    Raises:
        Leave: ``agents.toml`` cannot be used, or ``config.toml`` names an agent that there is not.
    """
    from coordinator import agentsfile  # it knows all drivers, and most commands need none

    loaded = agentsfile.load(paths.agents_file)
    if isinstance(loaded, Refusal):
        raise refused(loaded, as_json=as_json)
    mistyped = unknown_agent(paths.config_file, config, [one.name for one in loaded])
    if mistyped is not None:
        raise refused(mistyped, as_json=as_json)
    return loaded
