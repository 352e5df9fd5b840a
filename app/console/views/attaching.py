"""Which images a text names, and what is said before they go. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from app.console.views.ink import one_line
from app.wording import attached, image_problem, size_of
from coordinator.api import AttachedView, ImageSeen

_NAMED: Final = re.compile(r'(?:^|[\s(\[{<,;:])@(?:"([^"\n]+)"|([^\s"@]+))')
_ENDINGS: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
_AFTER: Final = ".,;:!?)]}>'"
"""What ends a sentence or closes a bracket is no part of a name that stands without quotes."""


def images_in(text: str) -> tuple[str, ...]:
    """Each name once, in the order of the text."""
    names = (quoted or bare.rstrip(_AFTER) for quoted, bare in _NAMED.findall(text))
    return tuple(dict.fromkeys(name for name in names if name.lower().endswith(_ENDINGS)))


def as_text_words(names: Sequence[str]) -> str:
    """Said of the first one: an agent that is told a path has to open it by itself."""
    return f"{one_line(names[0])} is sent as its path, as text: the agent opens it by itself" if names else ""


def sending_words(names: Sequence[str], seen: Mapping[str, ImageSeen], kept: Collection[str] = ()) -> str:
    """What Enter would send. What stays text comes first, for that is not what the operator expects."""
    found = [seen[name] for name in names if name in seen]
    said = [unfit_words(one) for one in found if one.problem is not None]
    fit = [one for one in found if one.problem is None]
    if len(fit) == 1:
        said.append(f"sends {one_line(fit[0].name)} as an image, {size_of(fit[0].size)}")
    elif fit:
        listed = ", ".join(f"{one_line(one.name)} ({size_of(one.size)})" for one in fit)
        said.append(f"sends {listed} as images")
    if stays := [one_line(name) for name in names if name in kept]:
        said.append(f"keeps {', '.join(stays)} as it was read")
    if looking := [one_line(name) for name in names if name not in seen and name not in kept]:
        said.append(f"looking at {', '.join(looking)}")
    return "; ".join(said)


def with_brief_words(seen: Sequence[ImageSeen]) -> str:
    """On the terms, beside what else is agreed to."""
    fit = [f"{one_line(one.name)} (image, {size_of(one.size)})" for one in seen if one.problem is None]
    unfit = [unfit_words(one) for one in seen if one.problem is not None]
    return "; ".join([*([f"with {', '.join(fit)}"] if fit else []), *unfit])


def unfit_words(one: ImageSeen) -> str:
    return f"{one_line(one.name)} stays text: {image_problem(one.problem or '')}"


def attached_words(images: Sequence[AttachedView]) -> str:
    return one_line(attached(images))
