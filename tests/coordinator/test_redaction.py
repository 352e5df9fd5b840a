"""No secret survives, however the text is cut; text without secrets is left as it is."""

import base64
import json
import string
import time
from itertools import pairwise
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings, strategies as st

from coordinator.redaction import _SHAPES, CARRY, MARK, SLICE, Redactor, secrets_of

B64 = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{B64}\n{B64}\nAbCd==\n-----END RSA PRIVATE KEY-----"
TOKENS = (
    "sk-ant-api03-" + "aB3_" * 20,
    "sk-proj-" + "Zx9" * 12,
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "11AA_" * 8,
    "glpat-" + "x9_-" * 5,
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefGHIJ",
    "AIza" + "Sy_-9" * 7,
    "npm_" + "a1" * 18,
    "hf_" + "Ab" * 17,
    "sk_live_" + "4eC3" * 6,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9",
    PEM,
)


def _in_pieces(redactor: Redactor, text: str, cuts: list[int]) -> str:
    stream = redactor.stream()
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return "".join(stream.feed(text[a:b]) for a, b in pairwise(edges)) + stream.flush()


secrets = st.text(st.sampled_from('ab-_"\\\n /=+é☃'), min_size=8, max_size=20)
words = st.text(st.sampled_from('ab-_"\\\n /=+é☃:.sk'), max_size=12)


@settings(max_examples=300)
@given(st.lists(secrets, min_size=1, max_size=3), st.data())
def test_no_known_secret_survives_any_cut(known: list[str], data: st.DataObject) -> None:
    parts = data.draw(st.lists(words | st.sampled_from(known), max_size=8))
    text = "".join(parts)
    redactor = Redactor(known)
    whole = redactor.text(text)
    assert not any(secret in whole for secret in known)
    cuts = data.draw(st.lists(st.integers(0, 200), max_size=12))
    assert _in_pieces(redactor, text, cuts) == whole
    assert _in_pieces(redactor, text, list(range(len(text)))) == whole


pieces = st.sampled_from(
    (*TOKENS, "https://ada:hunter2@h/p", "https://h/p?q=1", "-----BEGIN PRIVATE KEY-----", "sk-", "eyJ")
)
joints = st.sampled_from(("", " ", "\n", '"', "x", "-", "_", "=", ": ", "s", "://", "-----"))


@settings(max_examples=300)
@given(st.lists(st.tuples(joints, pieces, joints), max_size=4), st.lists(st.integers(0, 2000), max_size=20))
@example([("", PEM, "")], [40, 41, 200])
@example([("x", "xoxb-123456789012-abcdefGHIJ", "-----"), ("", "AKIAIOSFODNN7EXAMPLE", ": ")], list(range(60)))
def test_no_token_depends_on_where_it_is_cut(parts: list[tuple[str, str, str]], cuts: list[int]) -> None:
    redactor = Redactor()
    text = "".join(before + piece + after for before, piece, after in parts)
    whole = redactor.text(text)
    assert _in_pieces(redactor, text, cuts) == whole
    assert _in_pieces(redactor, text, list(range(0, len(text), 3))) == whole


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token[:10])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("key=", "\n"), ('"', '"'), ("Bearer ", "."), ("(", ")")])
def test_tokens_of_a_known_shape(token: str, before: str, after: str) -> None:
    out = Redactor().text(before + token + after)
    assert out in (before + MARK + after, before + MARK)
    assert token[12:24] not in out


@pytest.mark.parametrize(
    "shown",
    [
        PEM.replace("\n", "\\n"),
        PEM.replace("\n", "\r\n"),
        "\n".join(f"{n:6}→{line}" for n, line in enumerate(PEM.split("\n"), 1)),
        "\n".join(f"    {line}" for line in PEM.split("\n")),
        "\n".join(f"+{line}" for line in PEM.split("\n") if "END" not in line),
        ",\n".join(f'"{line}"' for line in PEM.split("\n")),
    ],
)
def test_private_keys_as_tools_show_them(shown: str) -> None:
    assert B64[:20] not in Redactor().text(f"see:\n{shown}\nend")
    assert Redactor().text(f"see:\n{shown}\nend").endswith("\nend")


@pytest.mark.parametrize(
    "text",
    [
        "task-management-system-overview-of-2024 and disk-encryption-key-rotation",
        "sk-learn-compatible-estimators-only",
        "the header is -----BEGIN PRIVATE KEY----- and then comes base64",
        "-----BEGIN CERTIFICATE-----\n" + B64 + "\n-----END CERTIFICATE-----",
        "https://example.org:8080/path user@host:22 git@github.com:a/b.git",
        "commit 3335bd785f350bc74b68a79cf3aceb2be48dd7d9",
        "eyJhbGciOiJIUzI1NiJ9 alone",
        "xoxo-hugs AKIA AIzaShort ghp_short npm_install hf_hub",
        "",
        "short",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    redactor = Redactor(["correct horse battery"])
    assert redactor.text(text) is text
    assert _in_pieces(redactor, text, list(range(len(text)))) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_text_without_secrets_is_unchanged(text: str, cuts: list[int]) -> None:
    redactor = Redactor(["Zq7#never-in-there"])
    assert redactor.text(text) == text
    assert _in_pieces(redactor, text, cuts) == text


def test_spellings_of_a_known_secret() -> None:
    secret = 'p"ss\\wörd/7+x=\n&second line of it'
    redactor = Redactor([secret])
    spelled = (
        secret,
        json.dumps(secret),
        json.dumps(secret, ensure_ascii=False),
        quote(secret, safe=""),
        *(base64.b64encode(b"ada:"[:n] + secret.encode() + b"!").decode() for n in range(5)),
        base64.urlsafe_b64encode(secret.encode()).decode(),
    )
    for text in spelled:
        out = redactor.text(f"<{text}>")
        assert MARK in out and len(out) < 24, (text, out)
    assert MARK in redactor.text("  2→&second line of it")


def test_overlapping_and_nested_secrets_leave_nothing() -> None:
    redactor = Redactor(["abcdefgh", "efghijkl", "abcdefghijklmnop"])
    assert redactor.text("xabcdefghijkly") == f"x{MARK}y"
    assert redactor.text("xabcdefghijklmnopy") == f"x{MARK}y"
    assert redactor.text("abcdefghabcdefgh") == MARK * 2
    assert redactor.feed("xabcd") + redactor.feed("efgh") + redactor.feed("ijkly") + redactor.flush() == f"x{MARK}y"


def test_a_stream_holds_back_no_more_than_it_must() -> None:
    stream = Redactor(["hunter2hunter2"]).stream()
    assert stream.feed("The password is ") == "The password is "
    assert stream.feed("hunt") == ""
    assert stream.feed("ing season. ") == "hunting season. "
    assert stream.feed("words") == "words"
    assert stream.feed(" sk-") == " "
    assert stream.feed("ink") == ""
    assert stream.feed("ing ship ") == "sk-inking ship "


@pytest.mark.parametrize("piece", ["aB3_" * 1000, B64 + "\n"])
def test_a_token_without_end_is_bounded(piece: str) -> None:
    stream = Redactor().stream()
    start = "sk-ant-" if piece[0] == "a" else "-----BEGIN PRIVATE KEY-----\n"
    out = stream.feed(start)
    for _ in range(3 * CARRY // len(piece)):
        out += stream.feed(piece)
        assert len(stream._held) <= CARRY
    out += stream.feed("! and then") + stream.flush()
    assert piece[:20] not in out and out.endswith("! and then") and out.count(MARK) <= 2


def test_no_text_makes_it_slow() -> None:
    redactor = Redactor(["a" * 40 + "b"])
    for text in (
        "a" * 60_000,
        "-----BEGIN " * 6_000,
        "eyJ" * 20_000,
        "://a:" * 12_000,
        "sk-" * 20_000,
        PEM[:40] * 1500,
        "eyJaaaaaaaa-" * 20_000,
        ("eyJaaaaaaaa-" * 500 + ".eyJ!") * 40,
        "sk-a" * 20_000,
    ):
        started = time.thread_time()  # of this thread alone: other work on the machine is no slowness of ours
        redactor.text(text)
        stream = redactor.stream()
        for at in range(0, len(text), 4096):
            stream.feed(text[at : at + 4096])
        stream.flush()
        assert time.thread_time() - started < 4, text[:20]


JWT = TOKENS[-2]


@given(st.lists(st.sampled_from([*TOKENS, "Aa-Bb_Cc:Dd@Ee", "naïve ☃ é", "://", "eyJ", "-", ".", " "]), max_size=12))
def test_one_pass_finds_what_a_search_for_each_finds(parts: list[str]) -> None:
    """The shapes and values, looked for one by one and slowly."""
    known = ["Aa-Bb_Cc:Dd@Ee", "naïve ☃ é"]
    text = "".join(parts)
    covered = [False] * len(text)
    for at in range(len(text)):
        for secret in known:
            if text.startswith(secret, at):
                covered[at : at + len(secret)] = [True] * len(secret)
    for _, shape in _SHAPES:
        for found in shape.finditer(text):
            covered[found.start() : found.end()] = [True] * (found.end() - found.start())
    out = Redactor(known).text(text)
    assert "".join(one for one, hidden in zip(text, covered, strict=True) if not hidden) == out.replace(MARK, "")


@pytest.mark.parametrize("slip", [-50, -20, -3, 0, 5])
@pytest.mark.parametrize("secret", [*TOKENS, "hunter2-with-Q", "https://ada:hunter2@h/p"], ids=lambda one: one[:10])
def test_no_secret_hides_where_a_long_text_is_searched_in_parts(secret: str, slip: int) -> None:
    filler = "word " * (SLICE // 5 + 50)
    text = filler[: SLICE + slip - 1] + " " + secret + " " + filler
    out = Redactor(["hunter2-with-Q"]).text(text)
    assert out.count(MARK) == 1 and secret[12:24] not in out


def test_a_token_at_the_end_of_a_very_long_word() -> None:
    text = "eyJ" + "a" * (CARRY + 100) + "-" + JWT
    assert JWT[40:] not in Redactor().text(text)


@pytest.mark.parametrize("one", sorted({*string.printable, "é", "☃", "\x00"}))
def test_a_long_row_of_one_character_costs_little(one: str) -> None:
    redactor, row = Redactor(["quetzal-quetzal-99", "Xylophone^of^Ada"]), one * 1_000_000
    started = time.thread_time()
    assert redactor.text(row) is row
    assert time.thread_time() - started < 0.2


def test_which_variables_are_secret() -> None:
    environment = {
        "ANTHROPIC_API_KEY": "sk-ant-1234567",
        "GITHUB_TOKEN": "  padded-token-1  ",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7",
        "PGPASSWORD": "correct-horse",
        "npm_config__authToken": "npm-auth-token",
        "DATABASE_URL": "postgres://ada:long-password@h/db",
        "MY_PAT": "short",
        "PWD": "/home/ada/projects",
        "SSH_AUTH_SOCK": "/run/user/1000/agent.sock",
        "TOKENIZERS_PARALLELISM": "false-false",
        "KEYBOARD": "us-international",
        "HOME": "/home/ada-lovelace",
        "COMPASS": "north-by-northwest",
    }
    assert secrets_of(environment) == {
        "sk-ant-1234567",
        "  padded-token-1  ",
        "padded-token-1",
        "wJalrXUtnFEMI/K7",
        "correct-horse",
        "npm-auth-token",
        "long-password",
    }
