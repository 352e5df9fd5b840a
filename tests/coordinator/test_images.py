"""Files that are read as images: what goes, what stays text and why, and that no name leads anywhere else."""

import os
import socket
import threading
from pathlib import Path

import pytest

from app.wording import image_problem, sentence
from coordinator import imagefiles, images
from coordinator.api import ImageProblem, ImageSeen, ImagesSeen, LookAtImages
from coordinator.constants import IMAGE_BYTES, IMAGES_BYTES, IMAGES_OF_A_TURN
from coordinator.drivers.base import Image
from coordinator.redaction import Redactor
from store.refusal import Refusal
from store.vocab import ImageType, RefusalReason, RunId
from tests.bereft import nothing_above_the_modes
from tests.coordinator.held import holding
from tests.fakes.images import GIF, JPEG, WEBP, image, png

SECRET = "zzq-hunter2-4711-not-to-be-kept"
NOTHING = Redactor()


def seen(tree: Path, name: str, redactor: Redactor = NOTHING, *, whole: bool = True) -> ImageSeen:
    [one] = imagefiles.look(tree, [name], redactor, whole=whole)
    assert one.name == name
    return one


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    (made / "docs").mkdir(parents=True)
    (made / "docs" / "shot.png").write_bytes(png())
    (tmp_path / "outside.png").write_bytes(png(seed=2))
    return made


@pytest.mark.parametrize(
    ("data", "kind"),
    [(png(), ImageType.PNG), (JPEG, ImageType.JPEG), (GIF, ImageType.GIF), (WEBP, ImageType.WEBP)],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_image_is_known_by_its_bytes_and_not_by_its_name(tree: Path, data: bytes, kind: ImageType) -> None:
    for name in ("a.png", "a.jpeg", "a.webp"):
        (tree / name).write_bytes(data)
        found = seen(tree, name)
        assert found.problem is None and found.image is not None
        assert (found.image.media_type, found.image.data, found.size) == (kind, data, len(data))


@pytest.mark.parametrize("data", [b"", b"\x89PNG", b"RIFF\0\0\0\0WAVE", b"<svg/>", b"%PDF-1.7", b"GIF88a"])
def test_what_is_no_image_stays_text_whatever_it_is_called(tree: Path, data: bytes) -> None:
    (tree / "a.png").write_bytes(data)
    for whole in (True, False):
        assert seen(tree, "a.png", whole=whole).problem is ImageProblem.NOT_AN_IMAGE


def test_a_file_that_git_does_not_know_goes_by_the_place_that_was_typed(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.png"
    for name in (str(outside), str(tree / "docs" / "shot.png"), "docs/shot.png", "./docs//shot.png"):
        assert seen(tree, name).problem is None, name
    assert seen(tree, "../outside.png").problem is ImageProblem.OUTSIDE
    assert seen(tree, f"{tree}/../outside.png").problem is ImageProblem.OUTSIDE


def test_the_operators_home_is_a_place_too(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert seen(tree, "~/outside.png").problem is None


def test_no_link_is_followed_anywhere_in_the_tree(tree: Path, tmp_path: Path) -> None:
    (tree / "link.png").symlink_to(tmp_path / "outside.png")
    (tree / "inner.png").symlink_to("docs/shot.png")
    (tree / "away").symlink_to(tmp_path)
    (tree / "broken.png").symlink_to("nowhere")
    (tmp_path / "typed.png").symlink_to(tmp_path / "outside.png")
    named = ["link.png", "inner.png", "away/outside.png", "broken.png", str(tree / "link.png")]
    for name in [*named, str(tree / "away" / "outside.png"), str(tmp_path / "typed.png")]:
        for whole in (True, False):
            found = seen(tree, name, whole=whole)
            assert (found.problem, found.image) == (ImageProblem.LINK, None), name


def test_a_link_put_there_between_the_look_and_the_opening_is_not_followed(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = (tree / "docs" / "shot.png").stat()

    def as_before(*_: object, **__: object) -> os.stat_result:
        return looked_at

    (tree / "docs" / "shot.png").unlink()
    (tree / "docs" / "shot.png").symlink_to(tmp_path / "outside.png")
    monkeypatch.setattr(os, "stat", as_before)
    assert seen(tree, "docs/shot.png").problem is ImageProblem.UNREADABLE


def test_nothing_but_a_plain_file_is_opened_and_nothing_is_waited_for(tree: Path, tmp_path: Path) -> None:
    os.mkfifo(tree / "pipe.png")
    (tree / "folder.png").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tree / "socket.png"))
    found: list[ImageSeen] = []

    def look() -> None:
        names = ["pipe.png", "folder.png", "socket.png", "/dev/zero", ".", "/"]
        found.extend(imagefiles.look(tree, names, NOTHING, whole=True))

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(10)
    assert [one.problem for one in found] == [ImageProblem.NOT_A_FILE] * 6


@pytest.mark.parametrize(
    "name",
    ["gone.png", "docs/shot.png/x.png", "a\0b.png", "\ud800.png", "x" * 300 + ".png", "~/nobody/x.png", "x/../y.png"],
    ids=ascii,
)
def test_a_name_that_leads_nowhere_is_said_to(tree: Path, name: str) -> None:
    found = seen(tree, name)
    assert found.problem is not None and found.image is None
    assert image_problem(found.problem) != found.problem, "there are words for it"


def test_one_that_may_not_be_read(tree: Path) -> None:
    (tree / "docs" / "shot.png").chmod(0)
    with nothing_above_the_modes():
        assert seen(tree, "docs/shot.png").problem is ImageProblem.UNREADABLE


def test_the_limits_are_those_of_one_image_of_their_number_and_of_all_together(tree: Path) -> None:
    exact = png() + bytes(IMAGE_BYTES - len(png()))
    (tree / "exact.png").write_bytes(exact)
    (tree / "large.png").write_bytes(exact + b"x")
    assert seen(tree, "exact.png").problem is None
    for whole in (True, False):
        assert seen(tree, "large.png", whole=whole).problem is ImageProblem.TOO_LARGE
    for n in range(IMAGES_OF_A_TURN + 2):
        (tree / f"s{n}.png").write_bytes(png(seed=n))
    many = imagefiles.look(tree, [f"s{n}.png" for n in range(IMAGES_OF_A_TURN + 2)], NOTHING, whole=False)
    assert [one.problem for one in many[-3:]] == [None, ImageProblem.TOO_MANY, ImageProblem.TOO_MANY]
    heavy = [f"h{n}.png" for n in range(IMAGES_BYTES // IMAGE_BYTES + 1)]
    for name in heavy:
        (tree / name).write_bytes(exact)
    together = imagefiles.look(tree, [*heavy, "s1.png"], NOTHING, whole=True)
    too_much = [ImageProblem.TOO_MUCH] * 2
    assert [one.problem for one in together] == [None] * (len(heavy) - 1) + too_much
    fit = [one.image for one in together if one.image is not None]
    assert images.refused(fit) is None, "what is read as fit is taken as fit"


def test_one_with_a_known_secret_in_it_is_not_kept(tree: Path) -> None:
    (tree / "docs" / "shot.png").write_bytes(png() + SECRET.encode())
    redactor = Redactor([SECRET])
    assert seen(tree, "docs/shot.png", redactor).problem is ImageProblem.SECRET
    given = Image(name="s.png", media_type=ImageType.PNG, data=png() + SECRET.encode())
    refused = images.taken([given], redactor)
    assert isinstance(refused, Refusal) and "secret" in sentence(refused)
    named = images.taken([image(f"{SECRET}.png")], redactor)
    assert not isinstance(named, Refusal) and SECRET not in named[0].name


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([image(f"{n}.png", seed=n) for n in range(IMAGES_OF_A_TURN + 1)], RefusalReason.TOO_MANY_IMAGES),
        ([Image(name="x.png", media_type=ImageType.PNG, data=b"no image")], RefusalReason.IMAGE_UNFIT),
        ([Image(name="x.png", media_type=ImageType.PNG, data=JPEG)], RefusalReason.IMAGE_UNFIT),
        ([Image(name="x.png", media_type=ImageType.PNG, data=png() + bytes(IMAGE_BYTES))], RefusalReason.IMAGE_UNFIT),
    ],
    ids=["many", "none", "mistyped", "large"],
)
def test_whoever_sends_them_the_limits_hold(given: list[Image], reason: RefusalReason) -> None:
    refused = images.refused(given)
    assert isinstance(refused, Refusal) and refused.reason is reason
    assert sentence(refused)


async def test_they_are_looked_for_in_the_tree_of_the_run_or_in_the_repository(tmp_path: Path) -> None:
    async with holding(tmp_path) as held:
        run = await held.start("the brief")
        (held.tree / "shot.png").write_bytes(png())
        for asked in (LookAtImages(run=run, repository="/", names=("shot.png", "gone.png")),):
            found = await held.do(asked)
            assert isinstance(found, ImagesSeen)
            assert [(one.size, one.problem, one.image) for one in found.images] == [
                (len(png()), None, None),
                (0, ImageProblem.MISSING, None),
            ]
        found = await held.do(LookAtImages(run=None, repository=str(held.tree), names=("shot.png",), whole=True))
        assert isinstance(found, ImagesSeen) and found.images[0].image == image()
        assert isinstance(await held.do(LookAtImages(run=RunId(77), repository="", names=("x.png",))), Refusal)
