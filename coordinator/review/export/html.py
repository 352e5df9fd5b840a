"""Blocks as one HTML file to send to a colleague: nothing is loaded from elsewhere, and nothing in it runs.

There is no script, no link and no image, and the page's own policy forbids all of them, so that even a mistake here
could not make it do anything. Every text is escaped at the one place where it goes in (``_text``).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from html import escape
from importlib import resources
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

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_INLINE: Final = re.compile(r"(`[^`\n]{1,2000}`)|(\*\*[^*\n]{1,2000}\*\*)")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+", re.MULTILINE)
_MARKS: Final = {Mood.GOOD: "✓ ", Mood.BAD: "✗ ", Mood.OPEN: "? ", Mood.PLAIN: ""}
_DIFF: Final = {"+": "add", "-": "del", "@": "at"}


@cache
def _style() -> str:
    return (resources.files("coordinator.review.export") / "page.css").read_text(encoding="utf-8")


def document(blocks: Iterable[Block], *, title: str, visible: Visible, language: str = "en") -> Iterator[str]:
    """The file, piece by piece."""
    yield (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{_line(title, visible)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>\n<main>\n"
    )
    open_article = False
    for block in blocks:
        if isinstance(block, Title):
            yield ("</article>\n" if open_article else "") + "<article>\n"
            open_article = True
        yield from _block(block, visible)
    yield ("</article>\n" if open_article else "") + "</main>\n</body>\n</html>\n"


def _block(block: Block, visible: Visible) -> Iterator[str]:
    match block:
        case Title():
            yield f"<h1>{_line(block.text, visible)}</h1>\n"
            if block.below:
                yield f'<p class="below {block.mood}">{_MARKS[block.mood]}{_line(block.below, visible)}</p>\n'
        case Facts():
            yield "<dl>\n"
            yield from (
                f"<dt>{_line(name, visible)}</dt><dd>{_line(value, visible)}</dd>\n" for name, value in block.rows
            )
            yield "</dl>\n"
        case Heading():
            yield f"<h2>{_marked(block.mood)}{_line(block.text, visible)}{_small(block.beside, visible)}</h2>\n"
        case Quote():
            yield f'<div class="say"><b>{_line(block.who, visible)}</b>{_text(block.text, visible)}</div>\n'
        case Prose():
            yield f'<div class="prose">\n{_prose(block.text, visible)}</div>\n'
        case Fold():
            yield _fold(block, visible)
        case Card():
            yield f'<div class="card {block.mood}"><b>{_line(block.line, visible)}</b>\n'
            if block.text:
                looks_like_diff = block.text.startswith("--- ") and "\n+++ " in block.text
                shown = _diff(block.text, visible) if looks_like_diff else _text(block.text, visible)
                yield f"<pre>{shown}</pre>\n"
            for question, choices in block.questions:
                listed = "".join(f"<li>{_line(choice, visible)}</li>" for choice in choices)
                yield f"<p>{_line(question, visible)}</p>\n" + (f"<ul>{listed}</ul>\n" if listed else "")
            yield f'<p class="answer">{_MARKS[block.mood]}{_line(block.answer, visible)}</p></div>\n'
        case Note():
            if block.text.strip():
                yield f'<p class="note">{_line(block.text, visible)}</p>\n'
        case Code():
            code = _diff(block.text, visible) if block.language == "diff" else _text(block.text, visible)
            yield f"<pre>{code}</pre>\n"


def _fold(block: Fold, visible: Visible) -> str:
    line = f"{_marked(block.mood)}{_line(block.line, visible)}{_small(block.beside, visible)}"
    parts = [(name, text) for name, text in block.parts if text]
    if not parts:
        return f'<div class="row">{line}</div>\n'
    inner = []
    for name, text in parts:
        inner.append(f"<h4>{_line(name, visible)}</h4>\n" if name else "")
        inner.append(
            f'<div class="prose">\n{_prose(text, visible)}</div>\n'
            if block.prose
            else f"<pre>{_text(text, visible)}</pre>\n"
        )
    return f"<details><summary>{line}</summary>\n{''.join(inner)}</details>\n"


def _marked(mood: Mood) -> str:
    return f'<span class="{mood}">{_MARKS[mood]}</span>' if mood is not Mood.PLAIN else ""


def _small(text: str, visible: Visible) -> str:
    return f" <small>{_line(text, visible)}</small>" if text else ""


def _text(text: str, visible: Visible) -> str:
    """The one way of a text into the page. A new line directly behind ``<pre>`` would be swallowed: it is doubled."""
    return ("\n" if text.startswith("\n") else "") + escape(visible(text), quote=True)


def _line(text: str, visible: Visible) -> str:
    return _text(" ".join(text.split()), visible)


def _prose(text: str, visible: Visible) -> str:
    """So much of Markdown as helps reading: code, headings, bold. No links, no images, no HTML."""
    found = []
    for piece, _language, code in pieces(text):
        if code:
            found.append(f"<pre>{_text(piece, visible)}</pre>\n")
        else:
            paragraphs = (one for one in re.split(r"\n[ \t]*\n", piece.strip("\n")) if one.strip())
            found += [f"<p>{_inline(one, visible)}</p>\n" for one in paragraphs]
    return "".join(found)


def _inline(paragraph: str, visible: Visible) -> str:
    heading = _HEADING.match(paragraph)
    if heading and "\n" not in paragraph:
        return f"<strong>{_text(paragraph[heading.end() :], visible)}</strong>"
    found = []
    for part in _INLINE.split(paragraph):
        if not part:
            continue
        if part.startswith("`") and part.endswith("`") and len(part) > 2:
            found.append(f"<code>{_text(part[1:-1], visible)}</code>")
        elif part.startswith("**") and part.endswith("**") and len(part) > 4:
            found.append(f"<strong>{_text(part[2:-2], visible)}</strong>")
        else:
            found.append(_text(part, visible))
    return "".join(found)


def _diff(text: str, visible: Visible) -> str:
    found = []
    for line in text.split("\n"):
        kind = _DIFF.get(line[:1], "")
        shown = _text(line, visible)
        found.append(f'<span class="{kind}">{shown}</span>' if kind else shown)
    return "\n".join(found)
