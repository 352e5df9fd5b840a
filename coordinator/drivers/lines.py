"""Cuts an agent's byte stream into lines. It exists because library readers stop at 1 MiB or less.

It has no limit of its own: the supervisor's (128 MiB, ``output-flood``) is the only one. No decoding may move in here.
"""


class LineSplitter:
    """Bytes in, whole lines out. A half line is kept in pieces, so that a line in many reads is joined once."""

    __slots__ = ("_pieces",)

    def __init__(self, rest: bytes = b"") -> None:
        self._pieces: list[bytes] = [rest] if rest else []

    def feed(self, data: bytes) -> list[bytes]:
        if b"\n" not in data:
            if data:
                self._pieces.append(bytes(data))
            return []
        lines = data.split(b"\n")
        if self._pieces:
            self._pieces.append(lines[0])
            lines[0] = b"".join(self._pieces)
        last = lines.pop()
        self._pieces = [last] if last else []
        return lines

    def rest(self) -> bytes:
        """What came since the last line end."""
        if len(self._pieces) > 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0] if self._pieces else b""

    def take_rest(self) -> bytes:
        rest = self.rest()
        self._pieces = []
        return rest
