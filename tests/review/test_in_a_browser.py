"""The exported page in a real browser: it is drawn, it fits a phone, and nothing in it runs."""

import json
import re
import shutil
import subprocess
import warnings
from pathlib import Path

import pytest

from tests.cli.running import footplate

BROWSER = shutil.which("chromium")
MEASURE = """
<script>
addEventListener("load", () => {
  const page = document.getElementById("page").contentDocument;
  for (const fold of page.querySelectorAll("details")) fold.open = true;
  const wide = page.documentElement.scrollWidth, paper = getComputedStyle(page.body).backgroundColor;
  document.title = JSON.stringify({wide, paper, ran: !!page.defaultView.ran, turns: page.querySelectorAll("h2").length,
    loaded: page.defaultView.performance.getEntriesByType("resource").length});
});
</script>
<iframe id="page" src="run-1.html" style="border:0;width:WIDTHpx;height:2000px"></iframe>
"""


@pytest.fixture(scope="module")
def browser() -> str:
    if BROWSER is None:
        line = "BROWSER MISSING: the package chromium is not installed; the exported page was opened in no browser"
        warnings.warn(line, stacklevel=1)
        pytest.skip(line)
    return BROWSER


@pytest.fixture(scope="module")
def page(ledger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    told = footplate(folder, "export", "1", "--ledger", str(ledger), "-f", "html", cwd=folder)
    assert told.code == 0, told.err
    return folder / "run-1.html"


def browse(browser: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
         "--disable-extensions", "--disable-background-networking", "--allow-file-access-from-files",
         f"--user-data-dir={folder / 'profile'}", *arguments],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize("width", [390, 1200])
def test_it_fits_its_width_and_runs_nothing(browser: str, page: Path, tmp_path: Path, width: int) -> None:
    frame = page.with_name(f"frame-{width}.html")
    frame.write_text(MEASURE.replace("WIDTH", str(width)))
    drawn = browse(browser, tmp_path, "--virtual-time-budget=5000", "--dump-dom", frame.as_uri())
    found = re.search(r"<title>(\{.*?\})</title>", drawn)
    assert found is not None, drawn[:500]
    told = json.loads(found.group(1).replace("&quot;", '"'))
    assert told["wide"] == width, "nothing stands out at the side"
    assert told["turns"] >= 4 and told["loaded"] == 0 and told["ran"] is False
    assert told["paper"] == "rgb(251, 250, 247)", "the page's own style holds under its own policy"


def test_it_is_drawn(browser: str, page: Path, tmp_path: Path) -> None:
    picture = tmp_path / "page.png"
    browse(browser, tmp_path, "--window-size=390,2000", f"--screenshot={picture}", page.as_uri())
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.stat().st_size > 20_000
