"""Lines as plain data: spans of text with an ink by name. What every view gives and every painted widget takes.

Text of agents, files and people passes through ``literal`` here once; afterwards nothing reads it as anything but text.
Widths are terminal cells, from one library. No Textual in this folder.
"""

from functools import lru_cache

from msgspec import Struct
from rich.cells import cell_len, chop_cells, set_cell_size

from app.console.views.text import breaks, literal as text_literal


class Span(Struct, frozen=True):
    text: str
    ink: str = "text"
    """A colour of the theme; ``strong`` beside it for bold."""


Line = tuple[Span, ...]
EMPTY: Line = ()


def line(*parts: Span | str) -> Line:
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts if part != "")


def plain(row: Line) -> str:
    return "".join(span.text for span in row)


def cells(row: Line | str) -> int:
    return cell_len(row) if isinstance(row, str) else sum(cell_len(span.text) for span in row)


def literal(text: str, *, newlines: bool = False) -> str:
    """The text with everything that a terminal could obey, or that hides or turns round what is read, made visible."""
    if text.isascii() and text.isprintable():
        return text
    rows = (text_literal(row) for row in text.split("\n"))
    return ("\n" if newlines else "\u2424").join(rows)


def one_line(text: str) -> str:
    """For titles and names: literal, white space folded."""
    return literal(" ".join(text.split()))


@lru_cache(maxsize=4096)
def cut(text: str, width: int) -> str:
    """At most ``width`` cells, with an ellipsis where something is missing."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    if width == 1:
        return "…"
    return set_cell_size(text, width - 1).rstrip() + "…"


def cut_path(text: str, width: int) -> str:
    """As ``cut``, keeping the end, which tells paths apart."""
    if cell_len(text) <= width:
        return text
    tail = text
    while tail and cell_len(tail) > width - 1:
        tail = tail[1:]
    return "…" + tail if width > 0 else ""


def cut_line(row: Line, width: int) -> Line:
    if cells(row) <= width:
        return row
    out: list[Span] = []
    left = width
    for span in row:
        size = cell_len(span.text)
        if size > left or (size == left and span is not row[-1]):
            out.append(Span(cut(span.text + " …", left) if size <= left else cut(span.text, left), span.ink))
            return tuple(out)
        out.append(span)
        left -= size
    return tuple(out)


def sides(left: Line, right: Line, width: int) -> Line:
    """Left and right on one row; the left gives way."""
    room = width - cells(right)
    if room <= 1:
        return cut_line(right, width)
    shown = cut_line(left, room - 1 if right else room)
    return (*shown, Span(" " * (room - cells(shown))), *right)


def indent(row: Line, by: int) -> Line:
    return (Span(" " * by), *row)


def hung(text: str, width: int, ink: str = "text", *, by: int = 2) -> list[Line]:
    """One thing of several that are said below each other: ``by`` cells in, and what goes on of it two more, so that
    one sees where the next begins."""
    at = [by, by + 2]
    rows = breaks(text, max(width - at[0], 1), max(width - at[1], 1), by_word=True)
    return [indent((Span(text[start:end], ink),), at[min(n, 1)]) for n, (start, end) in enumerate(rows)]


def wrap(text: str, width: int) -> list[str]:
    """Rows of at most ``width`` cells. Breaks at spaces where it can; drops nothing but the space broken at."""
    width = max(width, 1)
    rows: list[str] = []
    for paragraph in text.split("\n"):
        rows.extend(_wrap_paragraph(paragraph, width))
    return rows


def _wrap_paragraph(text: str, width: int) -> list[str]:
    if cell_len(text) <= width:
        return [text]
    rows: list[str] = []
    current = ""
    for word in _words(text):
        if cell_len(current) + cell_len(word.rstrip(" ")) <= width:
            current += word
            continue
        if current.strip():
            rows.append(current.rstrip(" "))
        else:
            # An indent is no word to break after: it stays with what it indents.
            word = current + word
        current = ""
        while cell_len(word.rstrip(" ")) > width:
            pieces = chop_cells(word, width)
            rows.append(pieces[0])
            word = word[len(pieces[0]) :]
        current += word
    if current.strip() or not rows:
        rows.append(current.rstrip(" ") if cell_len(current) > width else current)
    return rows


def _words(text: str) -> list[str]:
    words: list[str] = []
    start = 0
    for at in range(1, len(text)):
        if text[at - 1] == " " and text[at] != " ":
            words.append(text[start:at])
            start = at
    words.append(text[start:])
    return words


def hard_wrap(text: str, width: int) -> list[str]:
    """Rows for a command or a diff: cut at the edge, every character kept, spaces included."""
    rows: list[str] = []
    for paragraph in text.split("\n"):
        rows.extend(chop_cells(paragraph, max(width, 1)) if paragraph else [""])
    return rows


def flow(parts: list[Line], width: int, gap: int = 3) -> list[Line]:
    """Parts side by side, going on to the next row where the next does not fit."""
    rows: list[list[Span]] = [[]]
    used = 0
    for part in parts:
        size = cells(part)
        if used and used + gap + size > width:
            rows.append([])
            used = 0
        if used:
            rows[-1].append(Span(" " * gap))
            used += gap
        rows[-1].extend(cut_line(part, width))
        used += min(size, width)
    return [tuple(row) for row in rows]
