"""Blocks as Markdown, for a ticket, a wiki or a plain reader.

What others said stays inside its own block: an agent's Markdown is a quote with its HTML, images and links made
literal, everything else stands between fences longer than any in it. Nothing that was said can begin a heading, load
an image or open a link where the file is shown.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from coordinator.review.export.blocks import (
    Block,
    Card,
    Code,
    Facts,
    Fold,
    Heading,
    Mood,
    Note,
    Prose,
    Quote,
    Title,
    pieces,
)

Visible = Callable[[str], str]
"""Makes what a terminal obeys, or what hides or turns round what is read, visible. New lines and tabs stay."""

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>&~|$])")
_LEADING: Final = re.compile(r"^(\d*)([.)](?=\s|$)|(?<!\d)[#+=-])")
"""What is something only where a line begins with it."""
_LIVE: Final = re.compile(
    r"<|&(?=[#A-Za-z])|!?\[|\](?=[(\[:])|`{3,}|~{3,}|\$(?=\$)|@(?=\w)|(?i:(?:https?|ftp)://|www\.)"
)
_MARKS: Final = {Mood.GOOD: "✓ ", Mood.BAD: "✗ ", Mood.OPEN: "? ", Mood.PLAIN: ""}


def document(blocks: Iterable[Block], *, visible: Visible) -> Iterator[str]:
    """The file, piece by piece."""
    for block in blocks:
        yield from (piece for piece in _block(block, visible))


def _block(block: Block, visible: Visible) -> Iterator[str]:
    def plain(text: str) -> str:
        return escaped(visible(" ".join(text.split())))

    match block:
        case Title():
            yield f"# {plain(block.text)}\n\n"
            if block.below:
                yield f"**{_MARKS[block.mood]}{plain(block.below)}**\n\n"
        case Facts():
            yield from (f"- {plain(name)}: {plain(value)}\n" for name, value in block.rows)
            yield "\n"
        case Heading():
            beside = f" · {plain(block.beside)}" if block.beside else ""
            yield f"## {_MARKS[block.mood]}{plain(block.text)}{beside}\n\n"
        case Quote():
            yield f"**{plain(block.who)}:**\n\n{fenced(visible(block.text))}\n"
        case Prose():
            yield f"{quoted(visible(block.text))}\n"
        case Fold():
            beside = f" · {plain(block.beside)}" if block.beside else ""
            line = f"{_MARKS[block.mood]}{plain(block.line)}{beside}"
            if not any(text for _, text in block.parts):
                yield f"{line}\n\n"
                return
            yield f"<details><summary>{_in_html(visible, block)}</summary>\n\n"
            for name, text in block.parts:
                if text:
                    yield f"{plain(name)}:\n\n" if name else ""
                    yield quoted(visible(text)) if block.prose else fenced(visible(text))
                    yield "\n"
            yield "</details>\n\n"
        case Card():
            yield f"**{_MARKS[block.mood]}{plain(block.line)}**\n\n"
            if block.text:
                yield f"{fenced(visible(block.text))}\n"
            for question, choices in block.questions:
                listed = "".join(f"- {plain(choice)}\n" for choice in choices)
                yield f"{plain(question)}\n\n" + (f"{listed}\n" if listed else "")
            yield f"{plain(block.answer)}\n\n"
        case Note():
            yield f"*{plain(block.text)}*\n\n" if block.text.strip() else ""
        case Code():
            yield f"{fenced(visible(block.text), block.language)}\n"


def _in_html(visible: Visible, block: Fold) -> str:
    """A summary is HTML to whoever folds it: no Markdown is read in it."""
    text = f"{_MARKS[block.mood]}{block.line}" + (f" · {block.beside}" if block.beside else "")
    flat = visible(" ".join(text.split()))
    for sign, named in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        flat = flat.replace(sign, named)
    return re.sub(r"[*_`\[\]!~$\\@:]|www", lambda found: "".join(f"&#{ord(sign)};" for sign in found.group()), flat)


def escaped(text: str) -> str:
    """One line in which nothing is Markdown, and no address becomes a link."""
    flat = _LEADING.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", text))
    return re.sub(r"@|:(?=//)|(?i:www)(?=\.)", lambda found: "".join(f"&#{ord(one)};" for one in found.group()), flat)


def fenced(text: str, language: str = "") -> str:
    """Between fences longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    language = language if re.fullmatch(r"[A-Za-z0-9+#.-]{1,20}", language) else ""
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


def quoted(text: str) -> str:
    """An agent's Markdown as a quote: it keeps its shape and can do nothing."""
    parts = []
    for piece, language, code in pieces(text):
        if code or piece.strip():
            parts.append(fenced(piece, language) if code else _inert(piece))
    lines = "\n\n".join(part.rstrip("\n") for part in parts).split("\n")
    return "".join(f"> {line}".rstrip(" ") + "\n" for line in lines)


def _inert(prose: str) -> str:
    return "\n\n".join(_paragraph(one) for one in re.split(r"\n[ \t]*\n", prose))


def _paragraph(text: str) -> str:
    """Code between backticks stays as it is only where every reader sees the same code: whole in its line."""
    lines = [_spans(line) for line in text.split("\n")]
    sure = not any(sign in text for sign in ("\\`", "|", "```")) and all(spans is not None for spans in lines)
    if not sure:
        return "\n".join(_harmless(line) for line in text.split("\n"))
    return "\n".join("".join(piece if code else _harmless(piece) for piece, code in spans or ()) for spans in lines)


def _spans(line: str) -> list[tuple[str, bool]] | None:
    """A line as (text, whether it is code); None where some backtick has no partner."""
    parts = re.split("(`+)", line)
    found = [(parts[0], False)]
    at = 1
    while at < len(parts):
        end = at + 2
        while end < len(parts) and len(parts[end]) != len(parts[at]):
            end += 2
        if end >= len(parts):
            return None
        found += [("".join(parts[at : end + 1]), True), (parts[end + 1], False)]
        at = end + 2
    return found


def _harmless(text: str) -> str:
    return _LIVE.sub(_defused, text)


def _defused(found: re.Match[str]) -> str:
    run = found.group()
    if run == "<":
        return "&lt;"
    if run in "&@":
        return f"&#{ord(run)};"
    if run[0] in "`~$![]":
        return "".join(f"\\{sign}" for sign in run)
    return run.replace(":", "&#58;").replace(".", "&#46;")
