"""Reports and docs in headless Chromium: errors, width, zoom, pan, and the checks of axe-core.

These need Chromium with its driver and the extra ``browser``; without them they fail.
"""

import shutil
from collections.abc import Iterator
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.gains import Asked
from asyncdp_sim.reports import write_report
from asyncdp_sim.sentences.forecast import as_json
from tests.documents.site import built
from tests.unit.reports.pages import BASE, scenario, swept, written

pytestmark = pytest.mark.browser

SIZES = {"phone": (375, 740), "desktop": (1280, 900)}
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
SITE = ("index", "install", "gallery", "tutorial-own-table", "recipes", "beyond/index",
        "reference/python", "reference/scenario/network", "verification/oracles",
        "parts/channels")  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    found = next(filter(None, map(shutil.which, NAMES)), None)
    driver = shutil.which("chromedriver")
    assert found is not None, f"there is no browser: {', '.join(NAMES)}"
    assert driver is not None, "there is no chromedriver"
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(driver))
    yield started
    started.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("pages")
    first = written(place / "run", events=True)
    second = written(place / "louder", privacy=BASE["privacy"] | {"epsilon": 1000.0})
    kept = place / "forecast.json"
    made = forecast(scenario(), judged=Asked(own_best="linear"))
    kept.write_text(as_json(made), encoding="utf-8")
    shown = {
        "run": [first], "sweep": [swept(place / "sweep")], "comparison": [first, second],
        "forecast": [kept],
    }  # fmt: skip
    return {name: write_report(of, place / f"{name}.html") for name, of in shown.items()}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


def violations(shown: Any) -> list[str]:
    """Return what axe-core finds on the page that is open, a rule and an element each."""
    shown.execute_script(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = shown.execute_async_script("axe.run().then(arguments[0])")["violations"]
    return [f"{rule['id']}: {node['html']}" for rule in found for node in rule["nodes"]]


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("name", ["run", "sweep", "comparison", "forecast"])
def test_axe_finds_nothing_on_a_report(browser, pages, name, size, scheme):
    assert violations(opened(browser, pages[name], size, scheme)) == []


@pytest.mark.parametrize(("size", "scheme"), [("desktop", "light"), ("phone", "dark")])
@pytest.mark.parametrize("name", SITE)
def test_axe_finds_nothing_in_the_docs(browser, site, name, size, scheme):
    assert violations(opened(browser, site / f"{name}.html", size, scheme)) == []


def test_axe_would_find_a_picture_without_words(browser, pages):
    shown = opened(browser, pages["run"])
    shown.execute_script("document.querySelector('main').append(new Image())")
    assert [found.partition(":")[0] for found in violations(shown)] == ["image-alt"]


def opened(browser: Any, page: Path, size: str = "desktop", scheme: str = "light") -> Any:
    width, height = SIZES[size]
    shape = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == "phone"}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", shape)
    liked = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", liked)
    if browser.current_url.startswith("file:"):
        browser.execute_script("localStorage.clear()")  # where the site keeps the first scheme
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(page.as_uri())
    browser.execute_script("for (const d of document.querySelectorAll('details')) d.open = true")
    settle(browser)
    return browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("name", ["run", "sweep", "forecast"])
def test_no_error_no_other_address_and_nothing_too_wide(browser, pages, name, size, scheme):
    shown = opened(browser, pages[name], size, scheme)
    assert shown.get_log("browser") == []
    asked = [each["message"] for each in shown.get_log("performance")]
    sent = [each for each in asked if '"Network.requestWillBeSent"' in each]
    assert len(sent) == 1
    wide, room = shown.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= room
    ink, paper = (luminance(shown, what) for what in ("color", "backgroundColor"))
    assert (ink < paper) == (scheme == "light")
    assert abs(ink - paper) > 150
    ground, letters = of_picture(shown, ".card svg", scheme)
    assert ground == pytest.approx(paper, abs=1)
    assert abs(letters - ground) > 150


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_of_the_site_stand_on_the_page_itself(browser, site, scheme):
    shown = opened(browser, site / "index.html", scheme=scheme)
    ground, letters = of_picture(shown, ".md-typeset img", scheme)
    assert ground == pytest.approx(luminance(shown, "backgroundColor"), abs=1)
    assert abs(letters - ground) > 150


def of_picture(shown: Any, where: str, scheme: str) -> tuple[float, float]:
    """Return the luminance of a picture's ground, and that of what is farthest from it."""
    listed = shown.find_elements("css selector", where)
    element = next(each for each in listed if each.is_displayed())
    with Image.open(BytesIO(element.screenshot_as_png)) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=float).mean(axis=2)
    return float(pixels[2, -3]), float(pixels.min() if scheme == "light" else pixels.max())


def luminance(shown: Any, what: str) -> float:
    script = f"return getComputedStyle(document.body).{what}"
    channels = shown.execute_script(script).partition("(")[2].rstrip(")").split(",")
    return sum(float(each) for each in channels[:3]) / 3


BOX = "document.querySelector('.movable')"


def state(shown: Any) -> tuple[float, float, float, float]:
    """Return how wide the diagram is, how far it is scrolled, and where an owner's name is."""
    script = f"""
        const box = {BOX}, svg = box.querySelector("svg");
        const names = svg.querySelector("[id$='-rows']").getBoundingClientRect();
        return [svg.getBoundingClientRect().width, box.scrollLeft, box.clientWidth,
                names.right - box.getBoundingClientRect().left];
    """
    width, left, room, names = shown.execute_script(script)
    return width, left, room, names


def press(shown: Any, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(shown).send_keys(key).perform()
    settle(shown)


def settle(shown: Any) -> None:
    shown.execute_async_script(
        "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
    )


def test_zoom_and_pan(browser, pages):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    shown = opened(browser, pages["run"])
    box = shown.find_element(By.CSS_SELECTOR, ".movable")
    shown.execute_script(f"{BOX}.scrollIntoView({{block: 'center'}})")
    first, left, room, names = state(shown)
    assert first > room
    assert left == 0
    shown.find_element(By.CSS_SELECTOR, "[data-zoom=in]").click()
    assert state(shown)[0] == pytest.approx(1.25 * first, rel=0.01)
    shown.execute_script(f"{BOX}.focus()")
    press(shown, "-")
    press(shown, "-")
    assert state(shown)[0] == pytest.approx(first / 1.25, rel=0.01)
    press(shown, "0")
    assert state(shown)[:2] == pytest.approx((first, 0), rel=0.01)
    press(shown, Keys.ARROW_RIGHT)
    moved = state(shown)
    assert moved[1] > 0
    assert moved[3] == pytest.approx(names, abs=2)  # names stay where they are
    press(shown, Keys.HOME)
    assert state(shown)[1] == 0
    drag = ActionChains(shown).move_to_element(box).click_and_hold()
    drag.move_by_offset(-120, 0).release().perform()
    settle(shown)
    assert state(shown)[1] == pytest.approx(120, abs=5)
    assert shown.get_log("browser") == []


def test_an_owners_name_runs_nothing(browser, pages):
    """An alert would stop the driver, and the name would be an element."""
    shown = opened(browser, pages["run"])
    assert shown.execute_script("return document.scripts.length") == 1
    assert "alert('&" in shown.execute_script("return document.body.innerText")


def test_a_script_of_others_is_refused(browser, pages):
    """Were one ever to come in, the page's own policy keeps it from running."""
    page = pages["run"].with_name("spoilt.html")
    text = pages["run"].read_text("utf-8")
    page.write_text(text.replace("<main>", "<main><script>document.title = 'ran'</script>"))
    shown = opened(browser, page)
    assert shown.title != "ran"
    assert any("Content Security Policy" in each["message"] for each in shown.get_log("browser"))


def test_arrow_keys_choose_the_budget_of_a_forecast(browser, pages):
    from selenium.webdriver.common.keys import Keys

    shown = opened(browser, pages["forecast"])
    shown.execute_script("document.querySelector('input:checked').focus()")
    for epsilon, key in ((1, None), (3, Keys.ARROW_RIGHT), (1, Keys.ARROW_LEFT),
                         (0.3, Keys.ARROW_LEFT)):  # fmt: skip
        if key is not None:
            press(shown, key)
        said = shown.execute_script("return document.querySelector('[role=status]').innerText")
        assert f" at ε = {epsilon}: " in said
        assert said.count(" at ε = ") == 1
        [drawn] = shown.execute_script(
            "return [...document.querySelectorAll('#answer svg')]"
            ".filter(each => each.getClientRects().length).map(each => each.ariaLabel)"
        )
        assert f"At ε = {epsilon}, the mean gain is " in drawn
    assert shown.get_log("browser") == []


def test_on_paper_nothing_is_left_to_click(browser, pages):
    shown = opened(browser, pages["sweep"])
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = "return [...document.querySelectorAll('.tools')].every(e => !e.offsetParent)"
    assert shown.execute_script(hidden)
    assert luminance(shown, "backgroundColor") == 255
    assert len(shown.execute_cdp_cmd("Page.printToPDF", {})["data"]) > 10_000
    shown.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
