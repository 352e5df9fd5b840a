"""Secrets out of text, before the text is anything but a spool record.

Two kinds are found: values that the hold knows (from its environment, in the spellings that tools print them in) and
shapes that well-known tokens have. A secret that nobody knew and that has no such shape is not found; the README says
so. A stream is redacted with carry-over: what may be the beginning of a secret is kept back until it is one or is
not, so that no cut between two chunks lets a secret through. This file only maps text to text; who calls it, and for
what, is not its matter.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import quote

from msgspec import Struct

MARK: Final = "«redacted»"
"""Guillemets, so that no secret begins or ends in it and a mark never completes one."""
SHORTEST: Final = 8
"""Values shorter than this are words; taking them out would make text unreadable and protect nothing."""
SLICE: Final = 200_000
"""Characters that are searched in one go."""
CARRY: Final = 64 * 1024
"""The most that a stream keeps back for a token that does not end."""

_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:KEY|TOKENS?|SECRETS?|PASS|PASSWD|PASSPHRASE|CREDENTIALS?|AUTH|COOKIE|PAT|DSN|BEARER|SALT|PRIVATE)(?:_|$)"
    r"|APIKEY|ACCESSKEY|PASSWORD|(?:TOKEN|SECRET|PWD)$"
)
_NOT_SECRET_NAMES: Final = frozenset({"PWD", "OLDPWD", "XAUTHORITY", "FOOTPLATE_CUSTODY"})
_FILE_PATH: Final = re.compile(r"/(?:bin|dev|etc|home|mnt|nix|opt|private|proc|root|run|srv|tmp|usr|var|Users)(?:/|$)")
_USER_INFO: Final = re.compile(r"://[^\s/:@]*+:([^\s/@]{3,}+)@")

# Shapes, each with the literals of which it begins with one: only where one stands is the shape itself tried.
# Possessive repeats, so that no text makes a search go back over what it has read.
_EDGE: Final = r"(?<![A-Za-z0-9])"
_WORD: Final = "[A-Za-z0-9_.-]"
_TOKENS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("sk-",), r"sk-(?=[A-Za-z_-]{0,200}+[0-9])[A-Za-z0-9_-]{20,}+"),
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[A-Za-z0-9]{20,}+"),
    (("github_pat_",), r"github_pat_[A-Za-z0-9_]{20,}+"),
    (("glpat-",), r"glpat-[A-Za-z0-9_-]{16,}+"),
    (("AKIA", "ASIA"), r"A(?:KIA|SIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    (("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"), r"(?:xox[aberps]|xapp)-[A-Za-z0-9-]{10,}+"),
    (("AIza",), r"AIza[A-Za-z0-9_-]{35}"),
    (("npm_",), r"npm_[A-Za-z0-9]{30,}+"),
    (("hf_",), r"hf_[A-Za-z0-9]{30,}+"),
    (("pypi-",), r"pypi-[A-Za-z0-9_-]{40,}+"),
    (("sk_live_", "sk_test_", "rk_live_", "rk_test_"), r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+"),
    (("eyJ",), r"eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"),
)
_GAP: Final = "[^A-Za-z0-9+/=-]{0,24}+"  # a line end, an escaped one, a quote, an indent
_LINE: Final = (
    _GAP + r"(?:[0-9]{1,6}+[^A-Za-z0-9+/=-]{1,4}+)?[A-Za-z0-9+/=]{16,}+"
)  # maybe numbered, as tools print files
_PEM_HEAD: Final = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM_TAIL: Final = rf"(?:{_GAP}[A-Za-z0-9+/=]{{0,15}}+){{0,2}}-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
_PEM: Final = rf"{_PEM_HEAD}(?:{_LINE})++(?:{_PEM_TAIL})?"
_PEM_OPEN: Final = (
    rf"-----BEGIN [A-Z0-9 ]{{0,60}}-{{0,5}}\Z|{_PEM_HEAD}(?:{_LINE})*+(?:{_GAP}[A-Za-z0-9+/=]{{0,15}}+){{0,3}}"
    r"(?:-{1,5}(?:E|EN|END[A-Z0-9 ]{0,60}-{0,5})?)?\Z"
)
_SHAPES: Final[tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]] = (
    *((literals, re.compile(_EDGE + shape)) for literals, shape in _TOKENS),
    (("-----BEGIN ",), re.compile(_PEM)),
    (("://",), re.compile(r"(?<=://)[^\s/:@]*+:[^\s/@]{3,}+(?=@)")),
)
_USER: Final = r"[^\s/:@]*+(?::[^\s/@]{3}|:[^\s/@]*+\Z|\Z)"
_AFTER: Final = {"://": _USER, "sk-": r"(?:[A-Za-z0-9_-]{20}|[A-Za-z0-9_-]*+\Z)"}
"""What else must follow a literal that is often no secret's; most addresses have no user in them."""

_COMMON: Final = " etaoinsrhldcumfpgwybvk\n0123456789.,\"'()=/:jzqx_-{}[]"
"""Characters of texts, the most frequent first; all others are rarer."""
_LONG_WORD: Final = "eyJ"
_REST_OF_WORD: Final = re.compile(_EDGE + "[A-Za-z0-9_-]*+")
_LONGEST_HEAD: Final = 8 * 1024
"""Characters of such a token before its first dot, where it stands in one word with 64 thousand others."""
_CONTEXT: Final = 4
"""How many characters beside its rarest one a place must share with a literal to be looked at."""


class _Anchor(Struct, frozen=True):
    """A literal, as it is looked for: by its rarest character."""

    literal: str
    place: int
    """Of that character in it."""
    shape: int | None = None
    """Number of the shape that begins here; None: the literal itself is the secret."""

    @classmethod
    def of(cls, literal: str, shape: int | None = None) -> "_Anchor":
        ranks = [len(_COMMON) if one not in _COMMON else _COMMON.index(one) for one in literal]
        return cls(literal, ranks.index(max(ranks)), shape)

    @property
    def at_edge(self) -> bool:
        """Whether it is only looked for where a word begins."""
        return self.shape is not None and self.shape < len(_TOKENS)

    @property
    def around(self) -> str:
        """A pattern for what stands around that character, as far as it is asked for."""
        behind = self.literal[max(0, self.place - _CONTEXT) : self.place + 1]
        ahead = re.escape(self.literal[self.place + 1 : self.place + 1 + _CONTEXT]) + _AFTER.get(self.literal, "")
        edge = _EDGE[:-1] + re.escape(behind) + ")" if self.at_edge and self.place <= _CONTEXT else ""
        return (f"(?={ahead})" if ahead else "") + (f"(?<={re.escape(behind)})" if self.place else "") + edge


def _locator(anchors: Iterable[_Anchor]) -> re.Pattern[str]:
    """Finds where any of them may stand, in one pass.

    Alternatives that each begin with one character, and none of them a frequent one: such a pattern jumps from one of
    these characters to the next, four times as fast as a search for each literal by itself.
    """
    by_rarest: dict[str, list[_Anchor]] = {}
    for anchor in anchors:
        by_rarest.setdefault(anchor.literal[anchor.place], []).append(anchor)
    return re.compile("|".join(_ways(re.escape(one), found) for one, found in by_rarest.items()))


def _ways(one: str, anchors: list[_Anchor]) -> str:
    """This character, where one of them may stand: asked first by what stands beside it, so that a long row of the same
    character costs little."""
    before = {anchor.literal[anchor.place - 1] if anchor.place else "" for anchor in anchors}
    after = {anchor.literal[anchor.place + 1 : anchor.place + 2] for anchor in anchors}
    first = _one_of(after, "(?=[{}])") + _one_of(before, f"(?<=[{{}}]{one})")
    return f"{one}{first}(?:{'|'.join(sorted({anchor.around for anchor in anchors}))})"


def _one_of(beside: set[str], form: str) -> str:
    return "" if "" in beside else form.format("".join(sorted(map(re.escape, beside))))


_SHAPE_ANCHORS: Final = tuple(
    _Anchor.of(literal, number) for number, (literals, _) in enumerate(_SHAPES) for literal in literals
)


def _beginnings() -> Iterator[str]:
    literals = [literal for literals, _ in _TOKENS for literal in literals]
    yield _EDGE + "(?:" + "|".join(re.escape(literal) for literal in literals) + f"){_WORD}*+\\Z"
    parts = {literal[:n] for literal in literals for n in range(1, len(literal))}
    yield _EDGE + "(?:" + "|".join(sorted(map(re.escape, parts), key=len, reverse=True)) + ")\\Z"
    yield r"(?::|:/|://[^\s/@]*+)\Z"
    yield _PEM_OPEN
    yield "(?:" + "|".join(re.escape("-----BEGIN "[:n]) for n in range(10, 0, -1)) + ")\\Z"


_OPEN: Final = re.compile("|".join(f"(?:{beginning})" for beginning in _beginnings()))
_GOES_ON: Final = re.compile(r"[A-Za-z0-9_+/=.\s-]*+")


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """Values of variables whose name says that they are secret, and passwords inside addresses."""
    found: set[str] = set()
    for name, value in environment.items():
        found.update(_USER_INFO.findall(value))
        upper = name.upper()
        if upper in _NOT_SECRET_NAMES or not _SECRET_NAME.search(upper) or _FILE_PATH.match(value):
            continue
        found.update((value, value.strip()))
    return frozenset(secret for secret in found if len(secret) >= SHORTEST)


def _spellings(secret: str) -> Iterator[str]:
    """As tools print it: plain, inside JSON, inside an address, in base64 behind whatever stands before it."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield quote(secret, safe="", errors="surrogatepass")
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:  # shown indented, numbered or with other line ends, a key is still a key
        yield from (line for line in lines if len(line) >= 16 and not line.startswith("-----"))
    raw = secret.encode("utf-8", "surrogatepass")
    for shift, spoiled in ((0, 0), (1, 2), (2, 3)):
        whole = (shift + len(raw)) * 8 // 6
        core = base64.b64encode(bytes(shift) + raw)[spoiled:whole].decode()
        if len(core) >= 12:
            yield core
            yield core.translate(str.maketrans("+/", "-_"))


class Redactor:
    """Knows what to look for; holds no text. ``stream()`` makes one that carries over, for one block of text each."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        wanted = {spelling for secret in secrets if len(secret) >= SHORTEST for spelling in _spellings(secret)}
        self._needles = sorted((n for n in wanted if len(n) >= SHORTEST and n not in MARK), key=len, reverse=True)
        self._longest = len(self._needles[0]) if self._needles else 0
        self._by_first: dict[str, list[str]] = {}
        for needle in self._needles:
            self._by_first.setdefault(needle[0], []).append(needle)
        self._firsts = re.compile("[" + "".join(map(re.escape, self._by_first)) + "]") if self._needles else None
        anchors = (*_SHAPE_ANCHORS, *(_Anchor.of(needle) for needle in self._needles))
        self._locator = _locator(anchors)
        self._anchors: dict[str, list[_Anchor]] = {}
        for anchor in anchors:
            self._anchors.setdefault(anchor.literal[anchor.place], []).append(anchor)
        self._default = Stream(self)

    def text(self, text: str) -> str:
        """The text without its secrets; the very same object where there are none."""
        if len(text) < SHORTEST:
            return text
        spans = self.spans(text)
        return _cut_out(text, spans, 0, len(text)) if spans else text

    def beginning(self, text: str) -> str:
        """The same of a text that was cut off: without what may be the beginning of a secret at its end."""
        return self.stream().feed(text)

    def stands_in(self, data: bytes) -> bool:
        """Whether a known secret stands in bytes that are no text. Shapes are not looked for: they occur by chance."""
        return any(needle.encode("utf-8", "surrogatepass") in data for needle in self._needles)

    def stream(self) -> "Stream":
        return Stream(self)

    def feed(self, text: str) -> str:
        return self._default.feed(text)

    def flush(self) -> str:
        return self._default.flush()

    def spans(self, text: str, skip: int = 0) -> list[tuple[int, int]]:
        """Where secrets stand: in order, without overlap. The first ``skip`` characters are only what stands before.

        By slices: one search of 64 MB would hold the interpreter's lock, and a screen's keys with it. A shape is seen
        whole as long as it is not longer than ``CARRY``, as in a stream.
        """
        found: list[tuple[int, int]] = []
        ends = [skip] * len(_SHAPES)
        for at in range(0, len(text), SLICE):
            upto = at + SLICE
            for place in self._locator.finditer(text, at, min(upto + _CONTEXT, len(text))):
                if place.start() >= upto:
                    break
                for anchor in self._anchors[place.group()]:
                    start = place.start() - anchor.place
                    if start < 0 or not text.startswith(anchor.literal, start):
                        continue
                    if anchor.shape is None:
                        if start >= skip:
                            found.append((start, start + len(anchor.literal)))
                    else:
                        match, ends[anchor.shape] = _match(anchor, text, start, ends[anchor.shape])
                        found += [match] if match is not None else []
        return _merged(found) if found else found

    def undecided(self, text: str, skip: int = 0) -> int:
        """From where on the text may be the beginning of a secret whose rest has not come; its length: nowhere."""
        opening = _OPEN.search(text, skip)
        start = opening.start() if opening else len(text)
        if self._firsts is None:
            return start
        for candidate in self._firsts.finditer(text, max(skip, len(text) - self._longest + 1)):
            at = candidate.start()
            if at >= start:
                break
            rest = text[at:]
            if any(len(needle) > len(rest) and needle.startswith(rest) for needle in self._by_first[text[at]]):
                return at
        return start


class Stream:
    """One text that comes in pieces, cut anywhere. Joined, what it gives out is ``Redactor.text`` of the whole."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._before = ""
        """The last character given out: whether a token begins after it depends on it."""
        self._swallowing = False

    @property
    def pending(self) -> bool:
        """Whether what comes next may belong to what came before."""
        return bool(self._held) or self._swallowing

    def feed(self, text: str) -> str:
        if self._swallowing:
            rest = _GOES_ON.match(text)
            text = text[rest.end() :] if rest else text
            self._swallowing = not text
        whole = self._before + self._held + text
        skip = len(self._before)
        spans = self._redactor.spans(whole, skip)
        upto = self._redactor.undecided(whole, skip)
        for start, end in reversed(spans):
            if start < upto < end:
                upto = start
        if len(whole) - upto > CARRY:
            # No token is that long. It is given out redacted, and what goes on from a secret at the end is dropped.
            upto = len(whole)
            if spans and _GOES_ON.fullmatch(whole, spans[-1][1]):
                spans[-1] = (spans[-1][0], upto)
                self._swallowing = True
        out = _cut_out(whole, [span for span in spans if span[1] <= upto], skip, upto)
        self._held = whole[upto:]
        self._before = whole[max(0, upto - 1) : upto]
        return out

    def flush(self) -> str:
        """No more comes: what was kept back."""
        whole = self._before + self._held
        skip = len(self._before)
        spans = self._redactor.spans(whole, skip)
        self._held, self._before, self._swallowing = "", "", False
        return _cut_out(whole, spans, skip, len(whole))


def _match(anchor: _Anchor, text: str, start: int, least: int) -> tuple[tuple[int, int] | None, int]:
    """The shape that begins with this literal, or None, and from where on it may begin again.

    One that begins before ``least`` is none.
    """
    assert anchor.shape is not None
    shape = _SHAPES[anchor.shape][1]
    if anchor.literal == "://":
        start += len(anchor.literal)  # it stands before the shape
    if start < least:
        return None, least
    limit = min(start + CARRY, len(text))
    match = shape.match(text, start, limit)
    # What touches the limit is looked at again, to its real end; it may be none then.
    if match is not None and match.end() == limit < len(text):
        match = shape.match(text, start)
    if match is not None:
        return match.span(), match.end()
    if anchor.literal == _LONG_WORD:
        # Whether it is one is said at the end of this word: wherever it begins within it, it is none.
        word = _REST_OF_WORD.match(text, start, limit)
        if word is not None:
            return None, word.end() if word.end() < limit else max(start, limit - _LONGEST_HEAD)
    return None, least


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    spans.sort()
    out = [spans[0]]
    for start, end in spans[1:]:
        if start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def _cut_out(text: str, spans: list[tuple[int, int]], start: int, end: int) -> str:
    parts: list[str] = []
    at = start
    for first, last in spans:
        parts += (text[at:first], MARK)
        at = last
    parts.append(text[at:end])
    return "".join(parts)
