"""What an agent prints on its error stream, as text without secrets: it comes in pieces that are cut anywhere.

What may be the beginning of a secret, or of a character, is kept back until the rest has come. Pure; who reads the
stream, and what becomes of the text, is ``ingest``'s.
"""

import codecs

from coordinator.redaction import Redactor


class ErrorStream:
    """One process's, from its start to its end."""

    def __init__(self, redactor: Redactor) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._stream = redactor.stream()

    @property
    def pending(self) -> bool:
        """Something is kept back: who reads on from here must have read what was before."""
        return self._stream.pending or bool(self._decoder.getstate()[0])

    def feed(self, data: bytes) -> str:
        return self._stream.feed(self._decoder.decode(data))

    def end(self) -> str:
        """No more comes: what was kept back. The next process begins anew."""
        rest = self._stream.feed(self._decoder.decode(b"", True)) + self._stream.flush()
        self._decoder.reset()
        return rest
