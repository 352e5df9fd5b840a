"""Markdown as an agent writes it, line by line: one source line is one logical line, so that nothing jumps when a
text that was shown plain while it came is rendered once at its end, and every line still knows what was written.

A subset on purpose: headings, emphasis, code, lists, quotes, fences; tables and everything else stay literal. Work is
linear in the length of the line, whatever the line holds.
"""

import re
from collections.abc import Iterable

from app.console.views.markdown_code import coloured
from app.console.views.text import SourceLine, literal
from app.console.views.transcript_lines import Line, Run, source_line

_FENCE = re.compile(r"^( {0,12})(`{3,}|~{3,})[ \t]*([^`]*)$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(?=\S)")
_ITEM = re.compile(r"^( {0,40})([-*+]|\d{1,6}[.)])( +)(\[[ xX]\] +)?(?=\S)")
_QUOTE = re.compile(r"^ {0,3}>(?: ?> ?)* ?")
_RULE = re.compile(r"^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$")
_INLINE = re.compile(
    r"(?P<esc>\\[\\`*_{}\[\]()#+.!|<>~-])"
    r"|(?P<tick>`+)"
    r"|(?P<link>!?\[(?P<label>[^\[\]\n]{1,300})\]\((?P<url>[^()\s]{1,2000})\))"
    r"|(?P<mark>\*{1,3}|_{1,3}|~~)"
)
_BULLETS = frozenset("-*+")


def markdown_lines(source: Iterable[SourceLine], lead: Run = ("  ", "agent")) -> list[Line]:
    out: list[Line] = []
    fence, language, cut_off = "", "", 0
    for line in source:
        text = line.text
        found = None if line.joined else _FENCE.match(text)
        if fence:
            if found and found[2][0] == fence[0] and len(found[2]) >= len(fence) and not found[3]:
                fence = ""
                continue
            out.append(_code_line(line, language, cut_off, lead))
        elif found:
            fence, cut_off = found[2], len(found[1])
            # All that stands after the fence is shown: only its first word is a language.
            label = literal(found[3]).strip()
            language = label.split(" ", 1)[0].strip("{}.").lower()
            if label:
                out.append(Line(((label, "code-com"),), _pad(lead), _pad(lead), fill="code-fill", source=text))
        elif line.joined or line.rewritten or len(text) > 4_000:
            out.append(source_line(line, "agent", lead))
        else:
            out.append(_prose_line(text, lead))
    return out


def _pad(lead: Run) -> Run:
    return (lead[0] + " ", "code")


def _code_line(line: SourceLine, language: str, cut_off: int, lead: Run) -> Line:
    text = line.text
    if cut_off and not text[:cut_off].strip(" "):
        text = text[cut_off:]
    shown = literal(text)
    runs = tuple(coloured(shown, language)) if shown else ()
    source = line.text if shown != line.text else None
    pad = _pad(lead)
    return Line(runs, pad, pad, by_word=False, fill="code-fill", source=source, joined=line.joined)


def _prose_line(text: str, lead: Run) -> Line:
    if not text.strip():
        return Line((), lead, lead)
    shown = literal(text)
    heading = _HEADING.match(shown)
    if heading:
        runs = inline(shown[heading.end() :].rstrip("# ") or shown, "heading" if len(heading[1]) < 3 else "heading-low")
        return Line(runs, lead, lead, source=text)
    if _RULE.match(shown):
        return Line((("─" * 12, "faint"),), lead, lead, source=text)
    if shown.lstrip().startswith("|"):
        return Line(((shown, "agent"),), lead, lead, by_word=False, source=text if shown != text else None)
    quote = _QUOTE.match(shown)
    if quote and quote.end():
        bar = (lead[0] + "│ ", "faint")
        return Line(inline(shown[quote.end() :], "quote"), bar, bar, source=text)
    item = _ITEM.match(shown)
    if item:
        return _item_line(text, shown, item, lead)
    if shown[:4] == "    ":
        return Line(((shown, "code"),), lead, lead, by_word=False, source=text if shown != text else None)
    inset = len(shown) - len(shown.lstrip(" "))
    runs = inline(shown[inset:], "agent")
    before = (lead[0] + " " * inset, lead[1])
    changed = "".join(run[0] for run in runs) != text
    return Line(runs, before, before, source=text if changed else None)


def _item_line(text: str, shown: str, item: "re.Match[str]", lead: Run) -> Line:
    sign = "•" if item[2] in _BULLETS else item[2]
    task = (item[4] or "").strip().lower()
    if task:
        sign = "✓" if task == "[x]" else "○"
    first = lead[0] + item[1] + sign + " "
    style = "ok" if task == "[x]" else "bullet"
    return Line(inline(shown[item.end() :], "agent"), (first, style), (" " * len(first), lead[1]), source=text)


# ------------------------------------------------------------------------------------------------------------- inline


def inline(text: str, base: str) -> tuple[Run, ...]:
    """Emphasis, code and links in one line of literal text. What does not pair stays as it is written."""
    if not any(sign in text for sign in "`*_~[\\"):
        return ((text, base),) if text else ()
    tokens = _tokens(text)
    _pair(tokens)
    out: list[Run] = []
    strong = slanted = struck = False
    for shown, kind in tokens:
        if kind == "**":
            strong = not strong
        elif kind == "*":
            slanted = not slanted
        elif kind == "***":
            strong, slanted = not strong, not slanted
        elif kind == "~~":
            struck = not struck
        elif kind in ("inline-code", "link", "url"):
            _put(out, shown, kind)
        else:
            _put(out, shown, _emphasis(base, strong, slanted, struck))
    return tuple(out)


def _emphasis(base: str, strong: bool, slanted: bool, struck: bool) -> str:
    if struck:
        return "struck"
    if strong and slanted:
        return "strong-slanted"
    if strong:
        return "strong"
    return "slanted" if slanted and base == "agent" else base


def _put(out: list[Run], text: str, style: str) -> None:
    if not text:
        return
    if out and out[-1][1] == style:
        out[-1] = (out[-1][0] + text, style)
    else:
        out.append((text, style))


def _tokens(text: str) -> list[tuple[str, str]]:
    """Text and what it is: '' plain, ``inline-code``, ``link``, ``url``, or of a mark whether it may open or close."""
    tokens: list[tuple[str, str]] = []
    at = 0
    hopeless: set[str] = set()
    while found := _INLINE.search(text, at):
        start, end = found.span()
        if start > at:
            tokens.append((text[at:start], ""))
        if found["esc"]:
            tokens.append((found["esc"][1], ""))
        elif found["tick"]:
            ticks = found["tick"]
            close = -1 if ticks in hopeless else _closing_ticks(text, end, ticks)
            if close < 0:
                hopeless.add(ticks)
                tokens.append((ticks, ""))
            else:
                inside = text[end:close]
                if len(inside) > 2 and inside[0] == inside[-1] == " " and inside.strip():
                    inside = inside[1:-1]
                tokens.append((inside, "inline-code"))
                end = close + len(ticks)
        elif found["link"]:
            tokens.append((found["label"], "link"))
            if found["url"] != found["label"]:
                tokens.append((f" ({found['url']})", "url"))
        else:
            tokens.append((found["mark"], _mark_kind(text, start, end)))
        at = end
    if at < len(text):
        tokens.append((text[at:], ""))
    return tokens


def _closing_ticks(text: str, at: int, ticks: str) -> int:
    while (found := text.find(ticks, at)) >= 0:
        end = found + len(ticks)
        if text[found - 1] != "`" and text[end : end + 1] != "`":
            return found
        while end < len(text) and text[end] == "`":
            end += 1
        at = end
    return -1


def _mark_kind(text: str, start: int, end: int) -> str:
    before = text[start - 1] if start else " "
    after = text[end] if end < len(text) else " "
    opens, closes = not after.isspace(), not before.isspace()
    if text[start] == "_":
        opens = opens and not before.isalnum()
        closes = closes and not after.isalnum()
    return ("(" if opens else "") + (")" if closes else "")


def _pair(tokens: list[tuple[str, str]]) -> None:
    """Turn marks that pair into their plain kind (``*``, ``**``, ``***``, ``~~``) and the others into text."""
    waiting: dict[str, list[int]] = {}
    paired: set[int] = set()
    order: list[int] = []
    for at, (shown, kind) in enumerate(tokens):
        if kind not in ("(", ")", "()"):
            continue
        stack = waiting.setdefault(shown, [])
        if ")" in kind and stack:
            opener = stack.pop()
            while order and order[-1] != opener:  # what opened inside and was not closed stays text
                inner = order.pop()
                others = waiting[tokens[inner][0]]
                if others and others[-1] == inner:
                    others.pop()
            order.pop()
            paired.update((opener, at))
        elif "(" in kind:
            stack.append(at)
            order.append(at)
    for at, (shown, kind) in enumerate(tokens):
        if kind in ("(", ")", "()"):
            tokens[at] = (shown, shown.replace("_", "*") if at in paired else "")
