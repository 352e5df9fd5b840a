"""A turn with images: what is written, and that the same is written again from the same bytes."""

import base64
import json

import pytest

from coordinator.drivers.base import Image
from coordinator.drivers.claude import ClaudeDriver
from coordinator.drivers.registry import DRIVERS, create
from store.vocab import ImageType, TurnId
from tests.fakes.images import JPEG, image, png

TURN = TurnId("turn")
SHOT = image()
PHOTO = Image(name="photo.jpg", media_type=ImageType.JPEG, data=JPEG)


def test_the_text_comes_first_then_the_images_in_its_order() -> None:
    data = ClaudeDriver().turn(TURN, "see @shot.png and @photo.jpg", (SHOT, PHOTO))
    assert data.endswith(b"\n") and data.count(b"\n") == 1 and data.isascii()
    line = json.loads(data)
    text, *blocks = line["message"]["content"]
    assert text == {"type": "text", "text": "see @shot.png and @photo.jpg"}
    assert [block["type"] for block in blocks] == ["image", "image"]
    assert [block["source"]["media_type"] for block in blocks] == ["image/png", "image/jpeg"]
    assert [base64.b64decode(block["source"]["data"]) for block in blocks] == [png(), JPEG]
    assert line["client_composed"] is True, "the agent must not read the file into the text as well"


def test_a_turn_without_images_is_what_it_was() -> None:
    assert ClaudeDriver().turn(TURN, "hi", ()) == ClaudeDriver().turn(TURN, "hi")
    assert json.loads(ClaudeDriver().turn(TURN, "hi"))["message"]["content"] == "hi"


@pytest.mark.parametrize("name", [name for name, make in DRIVERS.items() if make("a").capabilities.takes_images])
def test_another_driver_makes_the_same_bytes_whatever_the_file_was_called(name: str) -> None:
    first, second = create(name, "a"), create(name, "b")
    assert first is not None and second is not None and first.capabilities.takes_images
    renamed = Image(name="[redacted]", media_type=SHOT.media_type, data=SHOT.data)
    assert first.turn(TURN, "see", (SHOT,)) == second.turn(TURN, "see", (renamed,))
    assert first.turn(TURN, "see", (SHOT, PHOTO)) != second.turn(TURN, "see", (PHOTO, SHOT))


def test_no_image_stays_in_the_drivers_snapshot() -> None:
    driver = ClaudeDriver()
    driver.turn(TURN, "see", (image(side=300),))
    assert len(driver.snapshot()) < 10_000


def test_the_agents_echo_of_it_is_its_receipt_and_nothing_to_show() -> None:
    driver = ClaudeDriver()
    line = json.loads(driver.turn(TURN, "see", (image(side=900),)))
    echo = json.dumps({**line, "isReplay": True}).encode() + b"\n"
    assert len(echo) > 3_000_000
    assert [type(event).__name__ for event in driver.feed(echo)] == ["TurnAccepted"]
