"""What ``budget`` shows, counted from the ledger and nothing else: limits, spent, reserved and left.

*Reserved* is what runs that are held now may still spend. Only what is paid by the token counts in a day and a month;
a subscription's money is nominal, the practice agent's is play money, and both are named as that.
"""

from msgspec import Struct
from msgspec.structs import replace

from app import wording
from app.cli.columns import Column
from app.cli.printing import line, one_line, table
from app.config import Config
from app.paths import Paths
from coordinator.clock import RealClock
from coordinator.house import periods
from coordinator.poolwarning import nearly_spent
from coordinator.recording import effective_limits
from coordinator.terms import Terms, parse
from coordinator.worktime import worked_ms
from store import authorizations, decisions, runs, turns
from store.db import read_ledger
from store.tx import Tx
from store.vocab import AuthorizationId, Billing, MicroUsd, Millis


class PoolLine(Struct, frozen=True, kw_only=True):
    period: str
    """``day`` or ``month``."""
    agent: str | None
    """Whose money it is; None: that of all agents together."""
    limit_micro_usd: int | None
    spent_micro_usd: int
    reserved_micro_usd: int
    left_micro_usd: int | None


class AgentLine(Struct, frozen=True, kw_only=True):
    agent: str
    billing: str
    day_micro_usd: int
    month_micro_usd: int


class RunBudgetLine(Struct, frozen=True, kw_only=True):
    run: int
    title: str
    agent: str
    billing: str
    limit_micro_usd: int | None
    spent_micro_usd: int
    guessed_micro_usd: int
    """Of what was spent, as much as is only an upper guess."""
    unknown_turns: int
    left_micro_usd: int | None
    turns: int
    max_turns: int
    worked_ms: int
    """Without the time in which the operator was awaited."""
    working_limit_ms: int | None
    ends_at: int


class Budgets(Struct, frozen=True, kw_only=True):
    at: int
    pools: tuple[PoolLine, ...]
    agents: tuple[AgentLine, ...]
    runs: tuple[RunBudgetLine, ...]


def read(paths: Paths, config: Config, agents: tuple[str, ...]) -> Budgets:
    """``agents``: the profiles that there are."""
    now = RealClock().now
    if not paths.ledger.exists():
        return Budgets(at=now(), pools=_pools(config), agents=(), runs=())
    with read_ledger(paths.ledger, now=now) as tx:
        held = tuple(one for row in runs.listing(tx, live_only=True, limit=1_000) if (one := _run(tx, row)) is not None)
        day, month = periods(tx.now)
        pools = tuple(
            _pool(tx, one, since=day if one.period == "day" else month, reserved=_reserved(held, one.agent))
            for one in _pools(config)
        )
        # Those of past runs too: an agent that is no longer configured has spent all the same.
        names = dict.fromkeys((*agents, *(row.agent for row in runs.listing(tx, limit=1_000))))
        used = [one for name in names for one in _agent(tx, name, day=day, month=month)]
        return Budgets(at=tx.now, pools=pools, agents=tuple(used), runs=held)


def _pools(config: Config) -> tuple[PoolLine, ...]:
    """As if nothing was spent: those of all agents always, those of one where there is a limit."""
    limits: list[tuple[str, str | None, MicroUsd | None]]
    limits = [("day", None, config.day_budget), ("month", None, config.month_budget)]
    for agent, pool in sorted(config.agent_pools.items()):
        own = (("day", pool.day), ("month", pool.month))
        limits += [(period, agent, limit) for period, limit in own if limit is not None]
    return tuple(
        PoolLine(
            period=period,
            agent=agent,
            limit_micro_usd=limit,
            spent_micro_usd=0,
            reserved_micro_usd=0,
            left_micro_usd=limit,
        )
        for period, agent, limit in limits
    )


def _reserved(held: tuple[RunBudgetLine, ...], agent: str | None) -> int:
    counted = (one for one in held if one.billing == Billing.KEY and agent in (None, one.agent))
    return sum(one.left_micro_usd or 0 for one in counted)


def _pool(tx: Tx, empty: PoolLine, *, since: Millis, reserved: int) -> PoolLine:
    limit, spent = empty.limit_micro_usd, turns.spent_since(tx, since=since, agent=empty.agent)
    left = None if limit is None else max(0, limit - spent - reserved)
    return replace(empty, spent_micro_usd=spent, reserved_micro_usd=reserved, left_micro_usd=left)


def _agent(tx: Tx, name: str, *, day: Millis, month: Millis) -> list[AgentLine]:
    found = []
    for billing in Billing:
        of_month = turns.spent_since(tx, since=month, billing=billing, agent=name)
        if of_month:
            of_day = turns.spent_since(tx, since=day, billing=billing, agent=name)
            found.append(AgentLine(agent=name, billing=billing.value, day_micro_usd=of_day, month_micro_usd=of_month))
    return found


def _run(tx: Tx, row: runs.Run) -> RunBudgetLine | None:
    signed = authorizations.get(tx, AuthorizationId(row.authorization_id))
    terms = parse(signed.terms) if signed is not None else None
    if signed is None or not isinstance(terms, Terms):
        return None
    limits, spend = effective_limits(tx, signed, terms), turns.spend(tx, row.id)
    return RunBudgetLine(
        run=row.id,
        title=one_line(row.title, 40),
        agent=one_line(row.agent, 40),
        billing=row.billing.value,
        limit_micro_usd=limits.budget,
        spent_micro_usd=spend.money,
        guessed_micro_usd=spend.guessed,
        unknown_turns=spend.unknown,
        left_micro_usd=None if limits.budget is None else max(0, limits.budget - spend.money),
        turns=spend.turns,
        max_turns=limits.max_turns,
        worked_ms=worked_ms(turns.of_run(tx, row.id), decisions.of_run(tx, row.id), tx.now),
        working_limit_ms=limits.working_ms,
        ends_at=limits.expires_at,
    )


# ------------------------------------------------------------------------------------------------------------- in words

_BILLINGS = {Billing.KEY: "", Billing.SUBSCRIPTION: "nominal: a subscription", Billing.PRACTICE: "play money"}


_POOLS = (
    Column(least=10),
    Column(head="spent", right=True),
    Column(head="reserved", right=True, goes=3),
    Column(head="left", right=True),
    Column(head="limit", right=True, goes=1),
    Column(least=9, goes=2),
)
_AGENTS = (
    Column(head="agent", least=8),
    Column(head="today", right=True),
    Column(head="this month", right=True),
    Column(least=10, goes=1),
)
_RUNS = (
    Column(head="run", right=True),
    Column(head="title", least=10),
    Column(head="spent", right=True),
    Column(head="left", right=True),
    Column(head="limit", right=True, goes=5),
    Column(head="turns", right=True, goes=3),
    Column(head="worked", right=True, goes=4),
    Column(head="until", goes=2),
    Column(least=10, goes=6),
)


def _money(micro: int | None, *, guess: bool = False) -> str:
    return "no limit" if micro is None else wording.money(MicroUsd(micro), guess=guess)


def _how_full(pool: PoolLine) -> str:
    """What the console tells of it once a day or month: four fifths, and the end."""
    if not pool.limit_micro_usd or not nearly_spent(pool.spent_micro_usd, pool.limit_micro_usd):
        return ""
    if pool.spent_micro_usd >= pool.limit_micro_usd:
        return "used up"
    return f"{100 * pool.spent_micro_usd // pool.limit_micro_usd} % is spent"


def _worked(run: RunBudgetLine) -> str:
    worked, limit = wording.work_time(run.worked_ms), run.working_limit_ms
    return worked if limit is None else f"{worked} of {wording.work_time(limit)}"


def print_budgets(budgets: Budgets) -> None:
    rows = []
    for pool in budgets.pools:
        rows.append(
            (
                {"day": "today", "month": "this month"}[pool.period] + (f", {pool.agent}" if pool.agent else ""),
                _money(pool.spent_micro_usd),
                _money(pool.reserved_micro_usd),
                _money(pool.left_micro_usd),
                _money(pool.limit_micro_usd),
                _how_full(pool),
            )
        )
    table(rows, _POOLS)
    if budgets.agents:
        line()
        spent = []
        for one in budgets.agents:
            note = _BILLINGS[Billing(one.billing)]
            spent.append((one.agent, _money(one.day_micro_usd), _money(one.month_micro_usd), note))
        table(spent, _AGENTS)
    line()
    if not budgets.runs:
        line("Nothing is held.")
        return
    held = []
    for run in budgets.runs:
        unknown = f"{wording.plural(run.unknown_turns, 'turn')} of unknown cost" if run.unknown_turns else ""
        held.append(
            (
                str(run.run),
                run.title,
                _money(run.spent_micro_usd, guess=run.guessed_micro_usd > 0),
                _money(run.left_micro_usd),
                _money(run.limit_micro_usd),
                f"{run.turns} of {run.max_turns}",
                _worked(run),
                wording.moment(run.ends_at, budgets.at),
                ", ".join(said for said in (_BILLINGS[Billing(run.billing)], unknown) if said),
            )
        )
    table(held, _RUNS)
