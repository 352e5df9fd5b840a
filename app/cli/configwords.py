"""The configuration in force as ``config.toml`` would say it, in its own keys and units: a line can be copied there.

What is not set is a comment. Pure; what a key means and may be stands in ``app.config``.
"""

import json
from collections.abc import Iterator

from app.config import Config
from app.notices.items import Kind, NoticeSettings
from coordinator.recording import Pool
from store.vocab import MicroUsd

_MINUTES = frozenset({"attendance_seconds", "lapse_grace_seconds", "stalled_seconds", "turn_timeout_seconds"})
"""Kept in seconds, written in minutes."""
_DOLLARS = frozenset({"day_budget", "month_budget"})
_TABLES = frozenset({"agent_pools", "setups", "checks", "keys", "notify"})


def as_written(config: Config, *, operator: str) -> Iterator[str]:
    """Line by line. ``operator``: who that is, also where the file does not say."""
    for name in Config.__struct_fields__:
        if name not in _TABLES:
            yield _line(name, operator if name == "operator" else getattr(config, name))
    for agent, pool in config.agent_pools.items():
        yield f"[pools.agents.{json.dumps(agent, ensure_ascii=False)}]"
        yield from _pool(pool)
    for place in dict.fromkeys((*config.setups, *config.checks)):
        yield f"[repository.{json.dumps(place, ensure_ascii=False)}]"
        if place in config.setups:
            yield f"setup = {_value(config.setups[place])}"
        if (checks := config.checks.get(place)) is not None:
            yield f"checks = {_value(checks.commands)}"
            yield f"check_minutes = {_value(checks.seconds / 60)}"
    if config.keys:
        yield "[keys]"
        yield from (f"{json.dumps(action)} = {_value(key)}" for action, key in config.keys.items())
    yield "[notify]"
    yield from _notices(config.notify)


def _line(name: str, value: object) -> str:
    if name in _MINUTES:
        name = name.removesuffix("_seconds") + "_minutes"
        value = value / 60 if isinstance(value, int | float) else None
    if value is None:
        return f"# {name} is not set"
    if name in _DOLLARS and isinstance(value, int):
        return f"{name} = {_money(MicroUsd(value))}"
    return f"{name} = {_value(value)}"


def _pool(pool: Pool) -> Iterator[str]:
    for name in ("day", "month"):
        limit = getattr(pool, name)
        if limit is not None:
            yield f"{name} = {_money(limit)}"


def _notices(told: NoticeSettings) -> Iterator[str]:
    yield f"bell = {_value(told.bell)}"
    yield f"terminal = {_value(told.terminal)}"
    yield f"command = {_value(told.command)}" if told.command else "# command is not set"
    yield f"command_seconds = {_value(told.command_seconds)}"
    yield from (f"{kind.name.lower()} = {_value(kind not in told.off)}" for kind in Kind)


def _money(micro: MicroUsd) -> str:
    whole, rest = divmod(micro, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").ljust(len(str(whole)) + 3, "0")


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"{value:.10g}"
        case tuple():
            return f"[{', '.join(_value(one) for one in value)}]"
        case _:
            return json.dumps(str(value), ensure_ascii=False)
