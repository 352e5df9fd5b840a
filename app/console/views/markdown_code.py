"""Colours for a line of code: comments, strings, numbers and keywords, one line at a time.

No language is parsed and none is guessed from its text: a line of code that is coloured wrongly is a smaller fault
than one that takes long, and a stream has no whole program to look at.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from app.console.views.transcript_lines import Run

_PYTHON = (
    "and as assert async await break class continue def del elif else except finally for from global if "
    "import in is lambda match nonlocal not or pass raise return try while with yield None True False "
    "self case"
)
_SHELL = (
    "if then else elif fi for in do done while until case esac function return export local set unset exit cd echo sudo"
)
_CURLY = (
    "abstract async await bool break case catch char class const continue debugger default defer delete "
    "do double else enum export extends extern false final finally float fn for func function go goto if "
    "impl implements import in instanceof int interface let long loop match mod module move mut new nil "
    "null override package private protected pub public range return select self short static str string "
    "struct super switch this throw throws trait true try type typeof union unsafe use using var virtual "
    "void where while yield"
)
_SQL = (
    "add alter and as asc begin by case check column commit constraint create default delete desc "
    "distinct drop else end exists foreign from group having in index inner insert into is join key left "
    "like limit not null offset on or order outer primary references returning rollback select set table "
    "then trigger union unique update values view when where with"
)
_WORDS = {
    "python": (_PYTHON, "#"),
    "shell": (_SHELL, "#"),
    "curly": (_CURLY, "//"),
    "sql": (_SQL, "--"),
    "data": ("true false null yes no", "#"),
    "json": ("true false null", ""),
}
_FAMILY = {
    "python": "python py py3 python3 pycon toml-python starlark",
    "shell": "sh bash zsh shell console fish dockerfile makefile make",
    "curly": "js jsx ts tsx javascript typescript java kotlin swift c h cpp c++ cc hpp cs csharp go rust rs php scala "
    "dart zig css",
    "sql": "sql sqlite postgres postgresql mysql",
    "data": "toml yaml yml ini conf cfg env properties",
    "json": "json json5 jsonl jsonc",
}
_FAMILY_OF = {name: family for family, names in _FAMILY.items() for name in names.split()}
DIFFS = frozenset({"diff", "patch"})


@lru_cache(maxsize=16)
def _scanner(family: str) -> tuple[re.Pattern[str], frozenset[str]]:
    words, comment = _WORDS[family]
    flags = re.IGNORECASE if family == "sql" else 0
    parts = [
        r"(?P<str>\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|`[^`]*`?)",
        r"(?P<num>\b\d[\w.]*)",
        r"(?P<word>[A-Za-z_]\w*)",
    ]
    if comment:
        # In a shell a # inside a word is no comment.
        start = r"(?:(?<=\s)|^)" if comment == "#" else ""
        parts.insert(0, rf"(?P<com>{start}{re.escape(comment)}.*)")
    return re.compile("|".join(parts), flags), frozenset(words.split())


def diff_style(line: str) -> str:
    if line.startswith(("+++", "---", "@@", "diff ", "index ")):
        return "hunk"
    return {"+": "add", "-": "del"}.get(line[:1], "code")


def coloured(line: str, language: str) -> Iterator[Run]:
    if language in DIFFS:
        yield line, diff_style(line)
        return
    family = _FAMILY_OF.get(language)
    if family is None or len(line) > 1_000:
        yield line, "code"
        return
    pattern, keywords = _scanner(family)
    at = 0
    for found in pattern.finditer(line):
        kind, text = found.lastgroup, found.group()
        if kind == "word":
            if (text.lower() if family == "sql" else text) not in keywords:
                continue
            style = "code-key"
        else:
            style = {"com": "code-com", "str": "code-str", "num": "code-num"}[kind or ""]
        if found.start() > at:
            yield line[at : found.start()], "code"
        yield text, style
        at = found.end()
    if at < len(line):
        yield line[at:], "code"
