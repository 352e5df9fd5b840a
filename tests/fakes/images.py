"""Images made for tests: a whole PNG, and what others begin with."""

import random
import struct
import zlib

from coordinator.drivers.base import Image
from store.vocab import ImageType

GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01" + bytes(40)
WEBP = b"RIFF\x24\x00\x00\x00WEBPVP8 " + bytes(40)


def png(side: int = 8, seed: int = 1) -> bytes:
    """A picture that every program can read; noise, so that nothing makes it much smaller."""
    noise = random.Random(seed)
    rows = b"".join(b"\0" + noise.randbytes(3 * side) for _ in range(side))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack("!I", len(body)) + kind + body + struct.pack("!I", zlib.crc32(kind + body))

    head = struct.pack("!IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def image(name: str = "shot.png", side: int = 8, seed: int = 1) -> Image:
    return Image(name=name, media_type=ImageType.PNG, data=png(side, seed))
