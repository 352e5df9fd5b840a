"""Images that the text in the composer names: looked at while it is written, read when it is entered.

Only what the operator wrote is looked for, not what stands in a paste that is shown as one sign. What was said before
Enter is what Enter does: an image that has become something else meanwhile is not sent as text instead.
"""

from typing import TYPE_CHECKING, Final

from app.console.views.attaching import as_text_words, images_in, sending_words, unfit_words
from app.wording import sentence
from coordinator.api import Image, ImageProblem, ImageSeen, ImagesSeen, LookAtImages
from store.refusal import Refusal
from store.vocab import RunId

if TYPE_CHECKING:
    from app.console.deeds import Deeds

FRESH: Final = 2.0
"""Seconds for which a look at a file is taken as it is."""

Place = tuple[RunId | None, str]


class Attaching:
    def __init__(self, deeds: "Deeds") -> None:
        self._deeds = deeds
        self._place: Place = (None, "")
        self._seen: dict[str, ImageSeen] = {}
        self._looked_at: float | None = None
        self._looking = False
        self._announced: frozenset[str] = frozenset()
        """Images that the operator was told would be sent."""

    # ---------------------------------------------------------------------------------------------------- while writing

    def words(self) -> str:
        """What would go with the text; '' where it names no image."""
        names = self.named()
        if not names:
            self._announced = frozenset()
            return ""
        if not self._takes_them():
            return as_text_words(names)
        kept = self._deeds.queueing.attached
        self._look([name for name in names if name not in kept])
        self._announced = frozenset(
            name for name in names if name in self._seen and self._seen[name].problem is None and name not in kept
        )
        return sending_words(names, self._seen, kept)

    def named(self) -> tuple[str, ...]:
        """As the text is shown: a paste that is one sign names nothing."""
        return images_in(self._deeds.drive.composer.document.text)

    def _takes_them(self) -> bool:
        session, proposal = self._deeds.session, self._deeds.drive.proposal
        if session is not None:
            return session.takes_images
        # Which agent it will be is not known before the terms, which say it.
        return proposal is None or proposal.takes_images

    def _here(self) -> Place:
        session = self._deeds.session
        return (None, self._deeds.repository) if session is None else (session.run, session.repository)

    def _look(self, names: list[str]) -> None:
        now, here = self._deeds.app.options.monotonic(), self._here()
        if here != self._place:
            self._place, self._seen, self._looked_at = here, {}, None
        new = any(name not in self._seen for name in names)
        old = self._looked_at is not None and now - self._looked_at > FRESH
        if names and (new or old) and not self._looking:
            self._looking = True
            self._deeds.spawn(self._see, here, tuple(names))

    async def _see(self, place: Place, names: tuple[str, ...]) -> None:
        try:
            reply = await self._deeds.order(LookAtImages(run=place[0], repository=place[1], names=names))
        finally:
            self._looking = False
        if place == self._place:
            none = (ImageSeen(name=name, problem=ImageProblem.UNREADABLE) for name in names)
            self._seen = {one.name: one for one in (reply.images if isinstance(reply, ImagesSeen) else none)}
            self._looked_at = self._deeds.app.options.monotonic()
        self._deeds.drive.paint_status()

    # ----------------------------------------------------------------------------------------------------- when entered

    async def look(self, names: tuple[str, ...]) -> tuple[ImageSeen, ...]:
        """For the terms of a new session: what would go with its brief."""
        if not names:
            return ()
        reply = await self._deeds.order(LookAtImages(run=None, repository=self._deeds.repository, names=names))
        return reply.images if isinstance(reply, ImagesSeen) else ()

    async def taken(self, names: tuple[str, ...], announced: frozenset[str] | None = None) -> tuple[Image, ...] | None:
        """The images that go, read whole. None: one of those announced can not, it was said, and nothing is sent."""
        run, repository = self._here()
        told = self._announced if announced is None else announced
        kept = self._deeds.queueing.attached
        wanted = tuple(name for name in names if name not in kept)
        if not wanted or not self._takes_them():
            return ()
        reply = await self._deeds.order(LookAtImages(run=run, repository=repository, names=wanted, whole=True))
        if not isinstance(reply, ImagesSeen):
            if isinstance(reply, Refusal):
                self._deeds.say(sentence(reply))
            return None
        unfit = [one for one in reply.images if one.problem is not None]
        lost = [one for one in unfit if one.name in told]
        if lost:
            self._seen = {one.name: one for one in reply.images}
            self._announced = frozenset()
            self._deeds.say(f"not sent: {unfit_words(lost[0])}; Enter again sends it so")
            return None
        if unfit:
            self._deeds.say(unfit_words(unfit[0]))
        return tuple(one.image for one in reply.images if one.image is not None)
