"""What outlives a practice session, so that it can be resumed: how far its script got, and what it cost.

Only where a folder for it is set; without one every session is new, and resuming is taken at its word. As with the real
agent, the cost is remembered only by a session that ended well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    played: int = 0
    cost: float = 0.0
    ended_well: bool = False


def folder(environ: Mapping[str, str]) -> Path | None:
    if own := environ.get("FOOTPLATE_REHEARSAL_STATE"):
        return Path(own)
    if shared := environ.get("CLAUDE_CONFIG_DIR"):
        return Path(shared) / "practice"
    return None


def recall(where: Path, session: str) -> Remembered | None:
    try:
        told = json.loads((where / f"{session}.json").read_text(encoding="utf-8"))
        return Remembered(played=int(told["played"]), cost=float(told["cost"]), ended_well=bool(told["ended_well"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        return Remembered()


def keep(where: Path, session: str, remembered: Remembered) -> None:
    where.mkdir(parents=True, exist_ok=True)
    fresh = where / f"{session}.new"
    told = {"played": remembered.played, "cost": remembered.cost, "ended_well": remembered.ended_well}
    fresh.write_text(json.dumps(told), encoding="utf-8")
    fresh.replace(where / f"{session}.json")
