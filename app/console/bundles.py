"""Long pasted texts that stand for one sign in the composer.

A text area wraps and draws what it holds again and again: with 1 MB in it each key takes a second (measured). So a long
text is kept beside it and one character stands for it there. One character, because no edit can break it: it is there
whole, moves whole, and goes whole. What is sent, saved and given to an editor is always the text itself. Pure.
"""

import re
from typing import Final

LONG: Final = 16 * 1024
"""Characters. Below it a key costs a few milliseconds; 10 kB of pasted text stay in sight."""
_FIRST: Final = 0x10F000
"""In the last private plane, where no font has a sign and no text a letter."""
_MOST: Final = 256
_SIGNS: Final = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + _MOST - 1)}]")


class Bundles:
    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What stands in the composer for a text that comes in: itself, or one sign."""
        text = _SIGNS.sub("\ufffd", text)
        if len(text) < LONG or len(self._texts) >= _MOST:
            return text
        sign = chr(_FIRST + len(self._texts))
        self._texts[sign] = text
        return sign

    def unfold(self, shown: str) -> str:
        """The text that this stands for. A sign of ours that we do not know is a sign like any other."""
        if not self._texts:
            return shown
        return _SIGNS.sub(lambda sign: self._texts.get(sign.group(), sign.group()), shown)

    def standing_in(self, shown: str) -> tuple[str, ...]:
        """The long texts in there, in order."""
        if not self._texts:
            return ()
        return tuple(self._texts[sign] for sign in _SIGNS.findall(shown) if sign in self._texts)

    def drawn(self, line: str, sign: str) -> str:
        return _SIGNS.sub(sign, line) if self._texts else line

    def forget(self) -> None:
        """Another text altogether: nothing that was undone can come back."""
        self._texts.clear()
