"""What the practice agent says to images: it looks at nothing, it only tells what it was sent, byte for byte."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from coordinator.rehearsal.script import Step
from coordinator.rehearsal.session import UserLine


def looked_at(lines: Sequence[UserLine]) -> list[Step]:
    """A step before those of the script, where images came."""
    told = [told for line in lines for told in _images(line.content)]
    if not told:
        return []
    count = "an image" if len(told) == 1 else f"{len(told)} images"
    return [Step(text=f"I was sent {count}: " + "; ".join(told))]


def _images(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict) or block.get("type") != "image":
            continue
        source = block["source"]
        data = base64.b64decode(source["data"], validate=True)
        yield f"{source['media_type']}, {len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()}"
