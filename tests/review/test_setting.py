"""Blocks as Markdown and HTML: nothing that was said can be more than text, whatever it is."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings, strategies as st

from app.console.views.text import copyable
from coordinator.review.export import html, markdown
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

NASTY = st.text(
    alphabet=st.sampled_from([*"ab `~<>&\"'![]()#*_|\\:/.\n\t@-=+$", "\u202e", "\x1b", "\x00", "\ud800", "é"]),
    max_size=60,
)
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "article", "h1", "h2", "h4", "p", "dl", "dt", "dd"),
    *("div", "b", "pre", "code", "strong", "span", "small", "details", "summary", "ul", "li"),
}


def every_block(text: str) -> list[Block]:
    return [
        Title(text=text, below=text, mood=Mood.BAD),
        Facts(rows=((text, text),)),
        Heading(text=text, beside=text),
        Quote(who=text, text=text),
        Prose(text=text),
        Fold(line=text, beside=text, parts=((text, text),)),
        Fold(line=text, parts=((text, text),), prose=True),
        Card(line=text, answer=text, text=text, questions=((text, (text,)),)),
        Note(text=text),
        Code(text=text, language="diff"),
    ]


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, attrs))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def seen(page: str) -> Seen:
    found = Seen()
    found.feed(page)
    found.close()
    return found


@given(text=NASTY)
@settings(max_examples=300, deadline=None)
def test_a_page_has_our_tags_only_and_they_hold_nothing_of_theirs(text: str) -> None:
    page = "".join(html.document(every_block(text), title=text, visible=copyable))
    found = seen(page)
    assert found.open == []
    assert {tag for tag, _ in found.tags} <= ALLOWED
    names = {name for _, attributes in found.tags for name, _ in attributes}
    assert names <= {"lang", "charset", "http-equiv", "content", "name", "class"}
    classes = {value for _, attributes in found.tags for name, value in attributes if name == "class"}
    assert all(re.fullmatch(r"[a-z ]*", value or "") for value in classes)
    assert not any(sign in page for sign in "\x1b\x00\u202e\ud800")
    page.encode()


@given(text=NASTY)
@settings(max_examples=200, deadline=None)
def test_code_and_quotes_say_word_for_word_what_was_said(text: str) -> None:
    page = "".join(html.document([Quote(who="w", text=text), Code(text=text)], title="t", visible=copyable))
    texts = "".join(seen(page).texts)
    body = texts[texts.index("\n", texts.index("}}")) if "}}" in texts else 0 :]
    assert body.count(copyable(text)) >= 2


def test_a_page_loads_and_runs_nothing() -> None:
    page = "".join(html.document(every_block("<script src=//x>"), title="t", visible=copyable))
    assert "default-src 'none'; style-src 'unsafe-inline'" in page
    assert "<script" not in page and "<img" not in page and "<a " not in page and "url(" not in page
    assert 'name="viewport"' in page and "prefers-color-scheme:dark" in page


# ------------------------------------------------------------------------------------------------------------ Markdown


def outside_of_fences(text: str) -> list[str]:
    """Lines of a document that a reader takes for Markdown, by CommonMark's rules for fences."""
    found, fence = [], ""
    for line in text.split("\n"):
        bare = line.removeprefix("> ").removeprefix(">")
        run = re.match(r" {0,3}(`{3,}|~{3,})", bare)
        if run and not fence and not (run[1][0] == "`" and "`" in bare[run.end() :]):
            fence = run[1]
        elif run and fence and run[1].startswith(fence) and not bare[run.end() :].strip():
            fence = ""
        elif not fence:
            found.append(line)
    assert not fence, "every fence is closed"
    return found


@given(text=NASTY)
@settings(max_examples=400, deadline=None)
def test_nothing_said_is_live_in_markdown(text: str) -> None:
    document = "".join(markdown.document(every_block(text), visible=copyable))
    for line in outside_of_fences(document):
        if line.startswith("<details><summary>"):
            line = line.removeprefix("<details><summary>").removesuffix("</summary>")
        elif line == "</details>":
            continue
        bare = re.sub(r"(?<!`)(`{1,2})(?!`)(?:(?!\1).)+\1(?!`)", "", line) if line.startswith(">") else line
        assert not re.search(r"(?<!\\)<[A-Za-z/!?]", bare), line
        assert not re.search(r"(?<!\\)!(?<!\\)\[", bare), line
        assert not re.search(r"(?<!\\)\](?=[(\[:])", bare), line
        assert "://" not in bare.replace("\\", "") or line.startswith(">"), line
    headings = [line for line in outside_of_fences(document) if re.match(r" {0,3}#{1,6} ", line)]
    assert len(headings) <= 2, "only ours"


@given(text=NASTY)
@settings(max_examples=200, deadline=None)
def test_a_fence_is_longer_than_any_in_it(text: str) -> None:
    made = markdown.fenced(text)
    fence = made[: len(made) - len(made.lstrip("`"))]
    assert len(fence) >= 3 and fence not in text
    assert made == f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}\n"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain **bold** `Vec<T>` done", "> plain **bold** `Vec<T>` done\n"),
        ("see <img src=x>", "> see &lt;img src=x>\n"),
        ("![a](http://x.y)", "> \\!\\[a\\](http&#58;//x.y)\n"),
        ("a `b <i>\nc` <i>", "> a `b &lt;i>\n> c` &lt;i>\n"),
        ("\\`<i>\\`", "> \\`&lt;i>\\`\n"),
        ("a | `x|<i>` | b", "> a | `x|&lt;i>` | b\n"),
        ("# big", "> # big\n"),
        ("```js\n<i>\n", "> ```js\n> <i>\n> ```\n"),
        ("- ```\n<i>", "> - \\`\\`\\`\n> &lt;i>\n"),
    ],
)
def test_an_agents_markdown_keeps_its_shape_and_can_do_nothing(said: str, shown: str) -> None:
    assert markdown.quoted(said) == shown


def test_pieces_take_the_fences_away() -> None:
    assert list(pieces("a\n```py\nb\n````\nc")) == [("a", "", False), ("b", "py", True), ("c", "", False)]
    assert list(pieces("~~~\nb")) == [("b", "", True)]


def test_a_long_line_of_backticks_takes_no_time() -> None:
    line = "`a``b" * 100_000
    assert len(markdown.quoted(line)) > len(line)
    assert "".join(html.document([Prose(text=line)], title="t", visible=copyable))
