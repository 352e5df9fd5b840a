"""The wheel: all that Footplate needs is in it and nothing of the tests, and what is installed from it works.

The tests of ``make test`` lend it the packages that they run with. Those marked ``registry`` install it as a stranger
does, with the newest packages that its metadata allows, where nothing is (``make packaging``, and CI).
"""

import email
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from app.main import VERSION
from tests.packaging import first_minutes
from tests.packaging.installing import PACKAGES, ROOT, bare_environment, build_wheel, install, operator, run

pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


def test_it_holds_what_the_sources_hold_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}
    meta = f"footplate-{VERSION}.dist-info/"
    files = {name: data for name, data in held.items() if not name.startswith(meta)}
    sources = [
        path.relative_to(ROOT)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert set(files) == {str(path) for path in sources}, "a kind of file that package-data does not name, or a guest"
    assert {name for name in files if files[name] != (ROOT / name).read_bytes()} == set()
    assert {"LICENSE", "METADATA", "RECORD", "WHEEL", "entry_points.txt"} <= {Path(name).name for name in held}
    assert wheel.name == f"footplate-{VERSION}-py3-none-any.whl"


def test_it_says_what_it_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        said = email.message_from_bytes(opened.read(f"footplate-{VERSION}.dist-info/METADATA"))
    assert said["Requires-Python"] == ">=3.11"
    needs = said.get_all("Requires-Dist", [])
    locked = set(re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    always = {re.match(r"[a-zA-Z0-9-]+", one)[0].lower() for one in needs if "extra" not in one}  # type: ignore[index]
    assert always and always <= locked
    assert "# Footplate" in str(said.get_payload())


def test_the_first_minutes_from_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    environment = bare_environment(tmp_path / "venv", lends=True)
    install(environment, "--no-deps", "--no-index", str(wheel))
    where = run(str(environment / "bin" / "python"), "-c", "import app; print(app.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment), "what runs is what was installed"
    first_minutes.play(environment / "bin" / "footplate", tmp_path)


@pytest.mark.registry
@pytest.mark.timeout(900)
def test_pip_installs_it_where_nothing_is(wheel: Path, tmp_path: Path) -> None:
    environment = bare_environment(tmp_path / "venv", lends=False)
    install(environment, str(wheel))
    first_minutes.play(environment / "bin" / "footplate", tmp_path)


@pytest.mark.registry
@pytest.mark.timeout(900)
def test_pipx_installs_it_upgrades_it_and_takes_it_away(wheel: Path, tmp_path: Path) -> None:
    tool = bare_environment(tmp_path / "tool", lends=False)
    install(tool, "pipx")
    commands = tmp_path / "bin"
    around = operator(tmp_path / "home", PIPX_HOME=str(tmp_path / "pipx"), PIPX_BIN_DIR=str(commands))
    pipx = str(tool / "bin" / "pipx")
    run(pipx, "install", str(wheel), cwd=tmp_path, env=around)
    first_minutes.play(commands / "footplate", tmp_path)
    run(pipx, "install", "--force", str(wheel), cwd=tmp_path, env=around)
    house = Path(around["FOOTPLATE_HOME"])
    assert run(str(commands / "footplate"), "verify", cwd=tmp_path, env=around) == "The ledger is whole.\n"
    run(pipx, "uninstall", "footplate", cwd=tmp_path, env=around)
    assert not (commands / "footplate").exists()
    assert (house / "ledger.db").exists(), "what it was used for stays"
    assert shutil.which("footplate", path=str(commands)) is None
