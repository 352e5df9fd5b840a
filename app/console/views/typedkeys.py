"""Keys as the bytes that a terminal sends for them: what a person types into an agent's own terminal. Pure.

The console's own keys never come here: they are taken before.
"""

import re

_PLAIN = {
    "enter": "\r",
    "tab": "\t",
    "shift+tab": "\x1b[Z",
    "backspace": "\x7f",
    "delete": "\x1b[3~",
    "insert": "\x1b[2~",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "ctrl+j": "\n",
    "ctrl+@": "\x00",
    "ctrl+space": "\x00",
    "ctrl+underscore": "\x1f",
    "alt+enter": "\x1b\r",
    "alt+backspace": "\x1b\x7f",
}
_ARROWS = {"up": "A", "down": "B", "right": "C", "left": "D", "home": "H", "end": "F"}
_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4}
_FUNCTIONS = {
    "f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~", "f6": "\x1b[17~",
    "f7": "\x1b[18~", "f8": "\x1b[19~", "f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",
}  # fmt: skip
_NEVER_PASTED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def bytes_of(key: str, character: str | None, *, cursor_keys: bool) -> bytes:
    """What goes to the program for a key; empty: nothing that it would know.

    ``cursor_keys``: it wants arrows spelled for applications.
    """
    if key in _PLAIN:
        return _PLAIN[key].encode()
    if key in _FUNCTIONS:
        return _FUNCTIONS[key].encode()
    *held, name = key.split("+")
    if name in _ARROWS:
        if held:
            number = 1 + sum(_MODIFIERS.get(word, 0) for word in held)
            return f"\x1b[1;{number}{_ARROWS[name]}".encode()
        return f"\x1b{'O' if cursor_keys else '['}{_ARROWS[name]}".encode()
    if held == ["ctrl"] and len(name) == 1 and name.isascii() and name.isalpha():
        return bytes([ord(name.upper()) & 0x1F])
    if held == ["alt"] and len(name) == 1:
        return b"\x1b" + name.encode()
    if character is not None and character.isprintable():
        return character.encode()
    return b""


def bytes_of_paste(text: str, *, marked: bool) -> bytes:
    """A paste, with nothing in it that would be a key or end it early."""
    plain = _NEVER_PASTED.sub("", text).replace("\r\n", "\n").replace("\n", "\r").encode()
    return b"\x1b[200~" + plain + b"\x1b[201~" if marked else plain
