"""Whatever a tree does while it is followed and ended: all that kept the nonce or was seen is ended, and nobody else is
signalled, whoever has a number now.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st

from coordinator.supervisor import ending, follower, kin, roll
from coordinator.supervisor.cgroup import Cgroups
from coordinator.supervisor.ending import Hands, Ladder
from coordinator.supervisor.follower import Follower
from tests.supervisor.scripted import EVENTS, KEEPER, LAUNCHD, NONCE, WORKER, Event, World

event = st.tuples(st.sampled_from(EVENTS), st.integers(0, 11), st.integers(0, 1))
order = st.lists(st.one_of(event, st.just(("look", 0, 0))), max_size=40)
SECONDS = {"farewell": 0.1, "eof": 0.1, "term": 0.1, "total": 1.0, "not_dying": 5.0}


@contextmanager
def kernel(world: World) -> Iterator[None]:
    with (
        patch.object(roll, "kernel", world),
        patch.object(ending, "kernel", world),
        patch.object(kin, "kernel", world),
        patch.object(follower, "kernel", world),
    ):
        yield


def held(world: World) -> Follower:
    made = Follower(NONCE)
    made.hold(WORKER, (KEEPER,))
    made._own_session = KEEPER
    look(world, made)
    return made


def look(world: World, made: Follower) -> None:
    made.look()
    for pid, known in made._known.items():
        one = world.there.get(pid)
        if one is not None and one.ticks == known.ticks:
            one.seen = True


def end(world: World, made: Follower, *, kill: bool) -> Ladder:
    def reap() -> bool:
        made.before_waiting()
        return world.reap()

    hands = Hands(
        agent_alive=lambda: world.agent in world.there and not world.there[world.agent].dead,
        say_farewell=lambda: False,
        said_at=lambda: 0.0,
        close_stdin=lambda: None,
        reap=reap,
        record_step=lambda step, left: None,
        cgroups=Cgroups(""),
    )
    ladder = Ladder(hands, made.roll(()), seconds=SECONDS, never=(WORKER, KEEPER), now=0.0)
    now = 0.0
    ladder.begin(now, kill=kill)
    while not ladder.done:
        now += max(ladder.tick(now), 0.0001)
        assert now < 60, "it never ends"
    return ladder


def followed(world: World, before: list[Event]) -> Follower:
    """A hold that has lived through these, its looks among them."""
    made = held(world)
    world.happen(("setsid", 0, 0))
    for one in before:
        if one[0] == "look":
            look(world, made)
        else:
            world.happen(one)
    return made


@given(before=order, during=st.lists(event, max_size=120), kill=st.booleans())
@settings(max_examples=400, deadline=None)
def test_all_that_was_seen_or_kept_the_nonce_is_ended_and_nobody_else(
    before: list[Event], during: list[Event], kill: bool
) -> None:
    world = World()
    with kernel(world):
        made = followed(world, before)
        world._during = list(during)
        ladder = end(world, made, kill=kill)
        told = {(one.pid, one.ticks) for one in ladder.roll.seen.values()}
    assert not world.wrong, "somebody else's was signalled"
    for left in world.left():
        assert not left.marked and not left.seen and (left.pid, left.ticks) not in told


@given(before=order, during=st.lists(event, max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_keeper_ends_what_the_worker_had_seen(before: list[Event], during: list[Event]) -> None:
    """The worker is killed at any moment: what is shared with the keeper is enough for all that was seen."""
    world = World()
    with kernel(world):
        made = followed(world, before)
        after = Follower(NONCE)
        after._table = made._table
        world.end(world.there[WORKER])
        world.there.pop(WORKER, None)
        world._during = list(during)
        after.hold(KEEPER)
        after._own_session = KEEPER
        after.recall()
        end(world, after, kill=True)
    assert not world.wrong
    assert not [left for left in world.left() if left.seen or left.marked]


def test_a_process_that_stayed_in_the_session_is_found_though_nobody_saw_it_fork() -> None:
    world = World()
    with kernel(world):
        made = held(world)
        agent = world.there[world.agent]
        agent.session = agent.pid
        look(world, made)
        between = world._new(agent.pid, agent.pid, ours=True, marked=False)
        assert between is not None
        orphan = world._new(between.pid, agent.pid, ours=True, marked=False)
        assert orphan is not None
        world.end(between)
        world.there.pop(between.pid, None)
        world.end(agent)  # not waited for yet: its number holds the session's
        end(world, made, kill=True)
    assert not world.left() and not world.wrong


@pytest.mark.parametrize("seen", [True, False])
def test_what_became_another_users_is_named_and_not_called_ended(seen: bool) -> None:
    """As with sudo: nobody may end it, and its start is not told any more."""
    world = World()
    with kernel(world):
        made = held(world)
        world.there[world.agent].session = world.agent
        tool = world._new(world.agent, world.agent, ours=True, marked=True)
        assert tool is not None
        if seen:
            look(world, made)
        tool.others = True
        ladder = end(world, made, kill=True)
        facts = ladder.roll.receipt(reason="stopped", already_ended=False, agent_exit=None, steps=[], total_ms=1)
    remaining, ended = facts["remaining"], facts["ended"]
    assert isinstance(remaining, list) and isinstance(ended, list)
    assert [one["pid"] for one in remaining] == [tool.pid] and tool.pid not in {one["pid"] for one in ended}
    assert world.left() == [tool] and not tool.signals and not world.wrong


def test_who_shares_a_session_that_is_not_the_trees_own_is_left_alone() -> None:
    """As when a guard is run by hand: the shell that it was started from is in that session too."""
    world = World()
    with kernel(world):
        made = held(world)
        shell = world._new(LAUNCHD, KEEPER, ours=False, marked=False)
        end(world, made, kill=True)
    assert shell in world.there.values() and not world.wrong and not world.left()


def test_what_hides_and_leaves_between_two_looks_is_the_limit() -> None:
    world = World()
    with kernel(world):
        made = held(world)
        agent = world.there[world.agent]
        agent.session = agent.pid
        look(world, made)
        between = world._new(agent.pid, agent.pid, ours=True, marked=False)
        assert between is not None
        between.session = between.pid
        daemon = world._new(between.pid, between.pid, ours=True, marked=False)
        assert daemon is not None
        world.end(between)
        world.there.pop(between.pid, None)
        ladder = end(world, made, kill=True)
        facts = ladder.roll.receipt(reason="stopped", already_ended=False, agent_exit=None, steps=[], total_ms=1)
    assert world.left() == [daemon] and not facts["remaining"]
    assert facts["followed"] is True, "so the report does not say that nothing is left"


def _deep(world: World) -> None:
    """A tool below the agent, and its own child."""
    tool = world._new(world.agent, world.agent, ours=True, marked=True)
    assert tool is not None
    world._new(tool.pid, tool.session, ours=True, marked=False)


def _left_by_its_parents(world: World) -> None:
    """One in the agent's session, and one that made its own and kept the nonce, both launchd's by now."""
    for own in (False, True):
        orphan = world._new(LAUNCHD, world.agent, ours=True, marked=own)
        assert orphan is not None
        orphan.session = orphan.pid if own else world.agent


def _daemon_with_a_child(world: World) -> None:
    daemon = world._new(LAUNCHD, LAUNCHD, ours=True, marked=True)
    assert daemon is not None
    daemon.session = daemon.pid
    world._new(daemon.pid, daemon.pid, ours=True, marked=False)


def _beside_anothers(world: World) -> None:
    """Somebody else's, whose child is older than itself by its place in the list."""
    child = world._new(LAUNCHD, LAUNCHD, ours=False, marked=False)
    parent = world._new(LAUNCHD, LAUNCHD, ours=False, marked=False)
    assert child is not None and parent is not None
    child.parent = parent.pid


def _by_anothers_server(world: World) -> None:
    """Started through somebody else's server: by its nonce alone it is known, and not by its first look."""
    server = world._new(LAUNCHD, LAUNCHD, ours=False, marked=False)
    assert server is not None
    world._new(server.pid, LAUNCHD, ours=True, marked=True)


@pytest.mark.parametrize("lost", [False, True], ids=["worker", "keeper"])
@pytest.mark.parametrize(
    "tree", [_deep, _left_by_its_parents, _daemon_with_a_child, _by_anothers_server, _beside_anothers]
)
def test_a_number_that_is_given_to_another_at_any_moment(tree: Callable[[World], None], lost: bool) -> None:
    """At each question in turn: one of ours ends, and somebody else has its number, a child, and perhaps a session."""
    happened = 0
    given = [*product(("recycle",), range(4), (0, 1)), ("take", 0, 0)]
    for moment, (what, who, leads), seen in product(range(70), given, (False, True)):
        world = World()
        with kernel(world):
            made = held(world)
            world.happen(("setsid", 0, 0))
            tree(world)
            if seen:
                look(world, made)
            if lost:
                after = Follower(NONCE)
                after._table, made = made._table, after
                world.end(world.there[WORKER])
                world.there.pop(WORKER, None)
            world._during = [("nothing", 0, 0)] * moment + [(what, who, leads)]
            if lost:
                made.hold(KEEPER)
                made._own_session = KEEPER
                made.recall()
            end(world, made, kill=True)
        assert not world.wrong, (moment, what, who, leads, seen)
        happened += not world._during
    assert happened > 500
