import time

import pytest
from hypothesis import given, strategies as st

from app.console.views.markdown import inline, markdown_lines
from app.console.views.text import SourceLine
from app.console.views.transcript_lines import Line, plain


def lines_of(text: str) -> list[Line]:
    return markdown_lines([SourceLine(row) for row in text.split("\n")], ("", ""))


@pytest.mark.parametrize(
    ("said", "runs"),
    [
        ("plain", [("plain", "agent")]),
        ("a **b** c", [("a ", "agent"), ("b", "strong"), (" c", "agent")]),
        ("*x* and __y__", [("x", "slanted"), (" and ", "agent"), ("y", "strong")]),
        ("***both***", [("both", "strong-slanted")]),
        ("`a*b*`", [("a*b*", "inline-code")]),
        ("``a`b``", [("a`b", "inline-code")]),
        ("snake_case_name", [("snake_case_name", "agent")]),
        ("2 * 3 * 4", [("2 * 3 * 4", "agent")]),
        ("unclosed **bold", [("unclosed **bold", "agent")]),
        ("`unclosed", [("`unclosed", "agent")]),
        ("~~gone~~", [("gone", "struck")]),
        (r"\*not\*", [("*not*", "agent")]),
        ("[here](https://x.example/a)", [("here", "link"), (" (https://x.example/a)", "url")]),
        ("[/a0/tests/x]", [("[/a0/tests/x]", "agent")]),
        ('[{"a":[1]}]', [('[{"a":[1]}]', "agent")]),
    ],
)
def test_inline(said: str, runs: list[tuple[str, str]]) -> None:
    assert list(inline(said, "agent")) == runs


def test_blocks() -> None:
    shown = plain(
        lines_of("# Title\ntext\n- one\n  - two\n3. three\n> said\n***\n| a | **b** |\n```sh\necho **x**\n```\nafter"),
        40,
    )
    assert shown == [
        "Title",
        "text",
        "• one",
        "  • two",
        "3. three",
        "│ said",
        "────────────",
        "| a | **b** |",
        " sh",
        " echo **x**",
        "after",
    ]


def test_every_line_knows_what_was_written() -> None:
    said = "# A `b`\n* item **x**\n\ttabbed\n```make\nall:\n\tcc x.c\n```\nplain"
    written = [line.source if line.source is not None else line.text for line in lines_of(said)]
    assert written == ["# A `b`", "* item **x**", "\ttabbed", "```make", "all:", "\tcc x.c", "plain"]


def test_code_is_coloured_and_a_diff_too() -> None:
    code = lines_of("```python\nx = 'a'  # why\nreturn 1\n```\n```diff\n+new\n-old\n@@ 1 @@\n```")
    assert ("# why", "code-com") in code[1].runs
    assert ("'a'", "code-str") in code[1].runs
    assert code[2].runs[0] == ("return", "code-key")
    assert [line.runs[0][1] for line in code[4:]] == ["add", "del", "hunk"]


def test_a_fence_that_is_not_closed_takes_the_rest() -> None:
    assert plain(lines_of("```\na\n# b"), 20) == [" a", " # b"]


@given(st.text(st.sampled_from("ab*_~`[]()\\# \n-|>1."), max_size=200))
def test_nothing_but_marks_is_ever_lost(said: str) -> None:
    seen = "".join(line.text for line in lines_of(said))
    assert [c for c in seen if c in "ab"] == [c for c in said if c in "ab"]


@pytest.mark.parametrize(
    "piece", ["*", "`", "[", "**a", "_a_", "~~", "`a``", "[a](", "\\", "> ", "- ", "*_", "***", "  ", "# ", "~~~ "]
)
def test_four_times_the_text_takes_four_times_as_long(piece: str) -> None:
    """And not sixteen times: by growth, in processor time of this thread, because the machine may be busy."""

    def least(length: int) -> float:
        said = "# " + (piece * length)[: length - 3] if piece in ("  ", "# ") else (piece * length)[: length - 2] + "x"
        whole, took = "\n".join([said] * 3), []
        for _ in range(5):
            begun = time.thread_time()
            lines_of(whole)
            took.append(time.thread_time() - begun)
        return min(took)

    assert least(4_000) < 9 * least(1_000) + 0.001
