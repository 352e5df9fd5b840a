"""The one table of keys: bindings, hints, help and the command list are all read from it.

Every action has a route of one plain control byte, or Esc and a letter; F-keys, Alt and Shift+Enter are aliases. Never
bound are keys that tmux, screen, browsers, mosh or a line discipline take for themselves (``NEVER``).
"""

from enum import StrEnum

from msgspec import Struct


class Where(StrEnum):
    ANYWHERE = "anywhere, whatever is open"
    COMPOSER = "while you write"
    CARD = "on a card"
    TERMS = "on the terms of a new session"
    KEYS = "keys (Esc from the text)"
    FILTER = "in the filter of the list"
    SEARCH = "while you search"
    REVIEW = "in the review (v)"
    CHANGES = "in what a run changed (d)"
    LIVE = "on a program's own screen (T)"
    TASKS = "in the line of tasks (Q)"


class Key(Struct, frozen=True, kw_only=True):
    action: str
    keys: tuple[str, ...]
    """As Textual names them; the first is shown."""
    where: Where
    words: str
    hint: str = ""
    """Short words for the row of hints; '' keeps it out of there."""
    shown: str = ""
    """How the first key is written for a person, where its name says it badly."""
    listed: bool = True
    """Whether the command list offers it."""
    inner: bool = False
    """Handled by the widget that has the focus, which knows where it is; here for hints and help only."""


A, W, C, T, K = Where.ANYWHERE, Where.COMPOSER, Where.CARD, Where.TERMS, Where.KEYS
F, V, L, D = Where.FILTER, Where.REVIEW, Where.LIVE, Where.CHANGES
Q = Where.TASKS


def _key(
    action: str,
    keys: str,
    where: Where,
    words: str,
    hint: str = "",
    *,
    shown: str = "",
    listed: bool = True,
    inner: bool = False,
) -> Key:
    return Key(
        action=action,
        keys=tuple(keys.split()),
        where=where,
        words=words,
        hint=hint,
        shown=shown,
        listed=listed and not inner,
        inner=inner,
    )


TABLE: tuple[Key, ...] = (
    _key("stop", "ctrl+backslash f9", A, "stop this session; again after 0.7 s kills it", "stop session", shown="^\\"),
    _key("stop-all", "ctrl+right_square_bracket f8", A, "stop all: first lists them, again stops them", shown="^] ^]"),
    _key("interrupt", "ctrl+c", A, "copy what is selected, else interrupt the turn", "interrupt turn"),
    _key("next-waiting", "ctrl+o f4", A, "go to what waits longest for you", "next waiting"),
    _key("commands", "ctrl+p f1", A, "all commands", "all commands", listed=False),
    _key("redraw", "ctrl+l", A, "draw the screen anew"),
    _key("quit", "ctrl+q", A, "quit; asks if an agent is still running", "quit"),
    _key("new-session", "ctrl+n", A, "new session", shown="^N"),
    _key("send", "enter", W, "send; while a turn runs: after it", "send", shown="Enter", inner=True),
    _key("newline", "ctrl+j alt+enter shift+enter", W, "new line; also \\ then Enter", "new line", inner=True),
    _key("to-keys", "escape", W, "leave the text for the keys; it stays as it is", "keys", shown="Esc", inner=True),
    _key("history", "up down", W, "at the edge: what you said before", shown="↑ ↓", inner=True),
    _key("history-search", "ctrl+r", W, "search what you said before", shown="^R", inner=True),
    _key(
        "to-card",
        "tab",
        W,
        "complete a file after @ or a command after /, else go to the card",
        shown="Tab",
        inner=True,
    ),
    _key("next-mode", "shift+tab", W, "next mode within the terms", shown="Shift+Tab", inner=True),
    _key("editor", "ctrl+g", W, "write in $EDITOR", shown="^G", inner=True),
    _key("answer", "1", C, "answer; a key counts when it came alone", "answer", shown="1–9", inner=True),
    _key("card-scroll", "down", C, "see the rest of it", "see the rest", shown="↑ ↓", inner=True),
    _key("note", "n", C, "a note to it with the answer", "note", inner=True),
    _key("edit-input", "e", C, "edit what it would run", "edit", inner=True),
    _key("open-all", "o", C, "show it all", "open all", inner=True),
    _key(
        "other-waiting",
        "left_square_bracket right_square_bracket",
        C,
        "the other waiting ones",
        "others",
        shown="[ ]",
        inner=True,
    ),
    _key("card-back", "escape", C, "back, unanswered", "back", shown="Esc", inner=True),
    _key("start", "enter", T, "start under these terms", "start", shown="Enter", inner=True),
    _key("preset", "tab", T, "the next preset: quick, normal, overnight", "other terms", shown="Tab", inner=True),
    _key("full-form", "e", T, "every field of the terms", "every field", inner=True),
    _key("added-text", "a", T, "what Footplate adds to the brief; on or off", "what is added", inner=True),
    _key("own-tree", "t", T, "a tree of its own, or in place", "own tree", inner=True),
    _key("all-rules", "r", T, "every standing rule of these terms", "rules", inner=True),
    _key("practice", "d", T, "use the practice agent instead", "practice agent", inner=True),
    _key("terms-back", "escape", T, "not yet: back to the brief", "not yet", shown="Esc", inner=True),
    _key("scroll", "j k g G pagedown pageup", K, "scroll the conversation", "scroll", shown="j k g G", inner=True),
    _key(
        "turn", "left_curly_bracket right_curly_bracket", K, "the turn before, the next turn", shown="{ }", inner=True
    ),
    _key("fold", "space", K, "open or fold", shown="Space", inner=True),
    _key("copy", "y Y", K, "copy this block, the whole message", inner=True),
    _key("session-down", "J down", K, "the next session", "session", shown="J K", listed=False),
    _key("session-up", "K up", K, "the session before", listed=False),
    _key("write", "i enter", K, "write to the agent", "write"),
    _key("card-from-keys", "tab", K, "go to the card", listed=False),
    _key(
        "interrupt-escape",
        "escape",
        K,
        "twice within a second: interrupt the turn; the first one says so; never over ssh",
        shown="Esc Esc",
        inner=True,
    ),
    _key("details", "l", K, "stop report and details: turns, processes, terms", "details"),
    _key("changes", "d", K, "what it changed, file by file, in all turns or one", "changes"),
    _key("tree", "B", K, "what becomes of its tree and branch: keep, merge, pick, shell, discard", "keep or merge"),
    _key("panel", "t", K, "show or hide plan and background"),
    _key("waiting-list", "a", K, "list what waits for you"),
    _key("tasks", "Q", K, "the tasks in line: what works, what waits, add one", "tasks"),
    _key("search", "slash", K, "search this conversation", "search", shown="/"),
    _key("search-next", "n", K, "the next match", listed=False),
    _key("search-previous", "N", K, "the match before", listed=False),
    _key("open", "o", K, "open what the cursor is on: a long text, a file at its line, a link", "open"),
    _key("filter", "F", K, "show only some sessions in the list", "filter"),
    _key("beside", "vertical_line", K, "a second session beside this one, or only one again", shown="|"),
    _key("swap", "b", K, "bring the session beside this one into view"),
    _key("away", "W", K, "what happened while you were away"),
    _key("review", "v", K, "all sessions of the ledger, in review: what was said, what it cost", "all sessions"),
    _key("new", "s", K, "new session", "new", listed=False),
    _key("next-waiting-w", "w", K, "go to what waits longest for you", listed=False),
    _key("continue", "c", K, "continue an ended session", "continue"),
    _key("finish", "f", K, "finish: end well after this turn"),
    _key("stop-x", "X", K, "stop this session", listed=False),
    _key("rename", "r", K, "rename this session"),
    _key("pin", "p", K, "keep this session on top of its group"),
    _key("seen", "u", K, "mark as seen"),
    _key("model", "M", K, "choose the model"),
    _key("mode", "S", K, "choose how it asks"),
    _key("release", "R", K, "send what waits in the line"),
    _key("resume", "A", K, "go on with all that paused while you were away"),
    _key("unqueue", "U", K, "change or take back what waits in the line"),
    _key("terminal", "T", K, "a program's own screen, live, to look at and to type into", "its screen"),
    _key("zoom", "z", K, "the conversation alone"),
    _key("colours", "C", K, "choose the colours"),
    _key("mouse", "m", K, "give the mouse to the terminal, or take it back"),
    _key("help", "question_mark", K, "these keys", "help", shown="?"),
    _key("tour", "H", K, "the tour: six keys that do most of it"),
    _key("commands-colon", "colon", K, "all commands", shown=":", listed=False),
    _key("quit-q", "q", K, "quit", listed=False),
    _key("filter-keep", "enter", F, "keep the filter and go to the keys", "keep it", shown="Enter", inner=True),
    _key("filter-clear", "escape", F, "show all sessions again", "show all", shown="Esc", inner=True),
    _key(
        "search-keep", "enter", Where.SEARCH, "stay here; n and N go on from it", "stay here", shown="Enter", inner=True
    ),
    _key("search-back", "escape", Where.SEARCH, "back to where you were", "back", shown="Esc", inner=True),
    _key(
        "review-move",
        "j k g G pagedown pageup",
        V,
        "up and down; PgDn PgUp by a screen, g G to the ends",
        "scroll",
        shown="j k g G",
        inner=True,
    ),
    _key("review-filter", "f slash", V, "filter the list; / in a conversation searches it", "filter", inner=True),
    _key(
        "review-texts",
        "t",
        V,
        "what was said in all runs, newest first, or the runs again",
        "what was said",
        inner=True,
    ),
    _key("review-spend", "dollar_sign", V, "money and time, or the runs again", "money", shown="$", inner=True),
    _key(
        "review-order", "s", V, "the next order; of money: by day, repository, agent, model, run", "order", inner=True
    ),
    _key(
        "review-open",
        "enter",
        V,
        "read the run's conversation; in a run: where this stands",
        "open",
        shown="Enter",
        inner=True,
    ),
    _key(
        "review-part",
        "tab",
        V,
        "the next part: turns, conversation, facts, money",
        "next part",
        shown="Tab",
        inner=True,
    ),
    _key("review-part-before", "shift+tab", V, "the part before", "part before", shown="Shift+Tab", inner=True),
    _key(
        "review-mark",
        "space",
        V,
        "mark a run for the export; open or fold",
        "mark for export",
        shown="Space",
        inner=True,
    ),
    _key("review-export", "x", V, "export what is marked, else this run", "export", inner=True),
    _key(
        "review-replay",
        "r",
        V,
        "see the run happen again, pressed again: 4 and 16 times as fast",
        "see it again",
        inner=True,
    ),
    _key("review-step", "full_stop comma", V, "in a replay: the next event, the one before", shown=". ,", inner=True),
    _key(
        "review-turn",
        "left_curly_bracket right_curly_bracket",
        V,
        "the turn before, the next turn",
        shown="{ }",
        inner=True,
    ),
    _key("review-next", "n N", V, "the next match, the one before", inner=True),
    _key("review-copy", "y Y", V, "copy this block, the whole message", inner=True),
    _key("review-whole", "o", V, "all of a long text", inner=True),
    _key("review-changes", "d", V, "what the run changed, as it was kept", inner=True),
    _key("review-help", "question_mark", V, "these keys", "keys", shown="?", inner=True),
    _key("review-back", "escape q", V, "back; q leaves the review", "back", shown="Esc", inner=True),
    _key("changes-move", "j k g G pagedown pageup", D, "up and down in the lines", shown="j k g G", inner=True),
    _key("changes-file", "J K", D, "the next file, the file before", "file", shown="J K", inner=True),
    _key(
        "changes-hunk",
        "left_curly_bracket right_curly_bracket",
        D,
        "the hunk before, the next hunk",
        "hunk",
        shown="{ }",
        inner=True,
    ),
    _key(
        "changes-turn",
        "left_square_bracket right_square_bracket",
        D,
        "the turn before, the next turn, all turns",
        "turn",
        shown="[ ]",
        inner=True,
    ),
    _key("changes-edit", "o", D, "open the file in $EDITOR, at this line", "editor", inner=True),
    _key("changes-page", "P", D, "all of it in $PAGER", "pager", inner=True),
    _key("changes-tool", "D", D, "the file in your diff tool, as git is told to use it", "diff tool", inner=True),
    _key("changes-again", "r", D, "look again", inner=True),
    _key("changes-back", "escape q d", D, "back", "back", shown="Esc", inner=True),
    _key("live-type", "i enter", L, "type into it: every key but those that work anywhere", inner=True),
    _key("live-escape", "e", L, "send it an Esc", inner=True),
    _key("tasks-move", "j k g G pagedown pageup", Q, "up and down in the list", shown="j k g G", inner=True),
    _key(
        "tasks-facts",
        "left_square_bracket right_square_bracket",
        Q,
        "more of what is known of the task",
        shown="[ ]",
        inner=True,
    ),
    _key("tasks-open", "enter", Q, "the session of its newest attempt", "its session", shown="Enter", inner=True),
    _key("tasks-add", "a", Q, "add a task", "add", inner=True),
    _key(
        "tasks-terms",
        "s",
        Q,
        "the terms of this task, or of all that are marked; Enter there agrees",
        "terms",
        inner=True,
    ),
    _key("tasks-all-terms", "S", Q, "the terms of all tasks that have none yet", inner=True),
    _key("tasks-mark", "space", Q, "mark it, to agree to several at once", "mark", shown="Space", inner=True),
    _key("tasks-edit", "e", Q, "change it", "edit", inner=True),
    _key("tasks-hold", "h", Q, "keep it back, or let it go on", inner=True),
    _key("tasks-hold-line", "H", Q, "keep the whole line back, or let it go on", inner=True),
    _key("tasks-retry", "r", Q, "try it again: failed, stopped, or waiting for you", inner=True),
    _key("tasks-accept", "y", Q, "take it as done as it stands", inner=True),
    _key("tasks-remove", "x", Q, "out of the line; asks again", inner=True),
    _key("tasks-priority", "plus minus", Q, "sooner, later", shown="+ -", inner=True),
    _key("tasks-agent", "R", Q, "its agent may be begun again: you have seen to it", inner=True),
    _key("tasks-filter", "slash", Q, "show only some", shown="/", inner=True),
    _key("tasks-back", "escape q Q", Q, "back", "back", shown="Esc", inner=True),
    _key("live-back", "escape", L, "no longer type; else back to the conversation", shown="Esc", inner=True),
)

ALIASES: dict[str, str] = {
    "next-waiting-w": "next-waiting",
    "stop-x": "stop",
    "commands-colon": "commands",
    "quit-q": "quit",
    "new": "new-session",
    "card-from-keys": "to-card",
}
"""Rows of the table that are another way to the same action."""

NEVER: dict[str, str] = {
    "ctrl+a": "tmux and screen take it",
    "ctrl+b": "tmux takes it",
    "ctrl+h": "it is the same byte as Backspace",
    "ctrl+i": "it is the same byte as Tab",
    "ctrl+m": "it is the same byte as Enter",
    "ctrl+left_square_bracket": "it is the same byte as Esc",
    "ctrl+s": "it can stop the terminal",
    "ctrl+t": "browsers take it",
    "ctrl+w": "browsers take it",
    "ctrl+circumflex_accent": "mosh takes it",
    "ctrl+z": "it is undo",
}


def canonical(action: str) -> str:
    return ALIASES.get(action, action)


def shown(key: Key) -> str:
    """How a person reads it: ``^O``, ``Esc``, ``j``."""
    return key.shown or written(key.keys[0])


_NAMES = {
    "backslash": "\\",
    "right_square_bracket": "]",
    "left_square_bracket": "[",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "vertical_line": "|",
    "escape": "Esc",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}


def written(name: str) -> str:
    if name.startswith("ctrl+"):
        rest = name[5:]
        return "^" + _NAMES.get(rest, rest.upper())
    return _NAMES.get(name, name.upper() if name[:1] == "f" and name[1:].isdigit() else name)


def undeliverable(name: str) -> str | None:
    """Why a key can not be bound, or None."""
    if name in NEVER:
        return NEVER[name]
    if name.startswith("ctrl+") and name[5:] in {"left", "right", "up", "down"}:
        return "not every terminal sends it"
    if name.startswith(("ctrl+", "alt+")) and name.split("+")[-1].isdigit():
        return "not every terminal sends it"
    return None


def find(key: str, where: Where, table: tuple[Key, ...] = TABLE) -> Key | None:
    return next((row for row in table if row.where is where and key in row.keys and not row.inner), None)
