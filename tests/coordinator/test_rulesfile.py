"""``rules.toml``: what is kept is what is proposed, and changing it by command leaves a person's own hand alone."""

import os
import stat
from pathlib import Path

import pytest

from coordinator import rulesfile
from coordinator.api import Proposal, Propose
from coordinator.rulesfile import Kept
from store.refusal import Refusal
from store.vocab import RefusalReason
from tests.coordinator.held import holding

BY_HAND = """# mine
[[rule]]
is = "allow command pytest"   # quick ones
repository = "/src/orders"

# never
[[rule]]
is = 'deny edit docs/**'

[[rule]]
agent = "claude"
is = "allow fetch *.python.org"
"""


def test_taking_one_out_leaves_the_rest_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(BY_HAND)
    gone = rulesfile.remove(path, 2)
    assert gone == Kept(text="deny edit docs/**")
    assert path.read_text() == BY_HAND.replace("[[rule]]\nis = 'deny edit docs/**'\n", "")
    assert rulesfile.load(path) == (
        Kept(text="allow command pytest", repository="/src/orders"),
        Kept(text="allow fetch *.python.org", agent="claude"),
    )
    for number in (0, 3):
        assert isinstance(rulesfile.remove(path, number), Refusal)


def test_adding_writes_what_reads_back_whatever_a_path_is_called(tmp_path: Path) -> None:
    path = tmp_path / "new" / "rules.toml"
    odd = Kept(text="allow command git commit -m 'a \"b\"'", repository='/src/o"r\u00e9d\ners', agent="claude")
    assert rulesfile.add(path, odd) is True
    assert rulesfile.add(path, odd) is False
    assert rulesfile.add(path, Kept(text="deny command")) is True
    assert rulesfile.load(path) == (odd, Kept(text="deny command"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    unwritable = rulesfile.add(path, Kept(text="deny command rm", repository=os.fsdecode(b"/src/\xff")))
    assert isinstance(unwritable, Refusal) and path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["rules.toml"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[rule]]\nis = 'allow everything'", "rule 1"),
        ("[[rule]]\nis = 'deny command'\n[[rule]]\nrepository = '/x'", "rule 2"),
        ("[[rule]]\nis = 'deny command'\nwhen = 1", "when"),
        ("[[rule]]\nis = 'deny command'\nrepository = 'orders'", "whole path"),
        ("[[rule]]\nis = 'deny command'\nrepository = '~nobody-of-this-name/x'", "no such home"),
        ("[[rules]]\nis = 'deny command'", "[[rule]]"),
        ("[[rule", "not TOML"),
        ("rule = 3", "rule 1"),
    ],
)
def test_a_mistake_is_refused_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "rules.toml"
    path.write_text(text)
    found = rulesfile.load(path)
    assert isinstance(found, Refusal) and found.reason is RefusalReason.CONFIG_INVALID
    assert says in f"{found.facts['key']} {found.facts['problem']}"
    assert rulesfile.add(path, Kept(text="deny command rm")) == found and path.read_text() == text


@pytest.mark.parametrize(
    ("what", "says"), [("folder", "a folder"), ("pipe", "a pipe"), ("large", "more than"), ("no text", "UTF-8")]
)
def test_what_is_no_file_of_rules_is_said_and_never_waited_for(tmp_path: Path, what: str, says: str) -> None:
    path = tmp_path / "rules.toml"
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"#" * 2_000_000 if what == "large" else b"\xff\xfe")
    found = rulesfile.load(path)
    assert isinstance(found, Refusal) and says in str(found.facts["problem"])


async def test_a_run_is_proposed_with_the_rules_for_it_and_says_what_is_new(tmp_path: Path) -> None:
    path, tree = tmp_path / "rules.toml", tmp_path / "tree"
    async with holding(tmp_path, rules_file=path) as held:

        async def propose(**more: object) -> Proposal:
            wish = Propose(instruction="x", repository=str(held.tree), agent="practice", **more)  # type: ignore[arg-type]
            proposal = await held.do(wish)
            assert isinstance(proposal, Proposal), proposal
            return proposal

        assert (await propose()).terms.rules == ()
        for kept in (
            Kept(text="allow command pytest", repository=str(tree)),
            Kept(text="allow command make"),
            Kept(text="allow command ls", repository=str(tmp_path)),
            Kept(text="allow command ls", agent="claude"),
        ):
            rulesfile.add(path, kept)
        first = await propose(more_rules=("deny  tool Task", "allow command make"))
        assert first.terms.rules == ("allow command pytest", "allow command make", "deny tool Task")
        assert (first.new_rules, first.gone_rules) == ((), ()), "there is nothing to compare it with"
        await held.start("go", rules=first.terms.rules)
        rulesfile.add(path, Kept(text="deny edit docs/**"))
        second = await propose()
        assert second.new_rules == ("deny edit docs/**",) and second.gone_rules == ("deny tool Task",)
        assert (await propose(rules=())).terms.rules == ()
        refused = await held.do(Propose(instruction="x", repository=str(held.tree), rules=("allow all",)))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.RULE_INVALID
        path.write_text("[[rule]]\nis = 'x'")
        refused = await held.do(Propose(instruction="x", repository=str(held.tree), agent="practice"))
        assert isinstance(refused, Refusal) and refused.reason is RefusalReason.CONFIG_INVALID
