"""The page in a real browser, Debian's Chromium; axe looks at every page. ``make test-all`` runs these.

With WEB_PICTURES=docs/pictures the tests make the pictures of the documentation anew.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from dpproxy.cli import demo
from dpproxy.cli.serve import options
from dpproxy.config.configuration import load_config
from dpproxy.config.users import UsersFile, add_user, editing
from dpproxy.engine.databases import open_databases
from dpproxy.server.listener import Server
from tests.proxies import PASSWORD, Proxy
from tests.web.pages import page

CHROMIUM = Path("/usr/bin/chromium")
SWITCHES = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PICTURES = os.environ.get("WEB_PICTURES")
BY_RELATIONSHIP = """\
SELECT relationship, count(*) AS people, avg(hours_per_week) AS hours
FROM adult WHERE age >= 30 GROUP BY relationship"""
AXE = Axe()
OFFICER = "dora"
"""Who runs it, and may read rows as well."""
PATHS = ("/", "/tables", "/history")
ADMINISTRATION = (
    "/budgets",
    "/spending",
    "/policy",
    "/users",
    "/password",
    "/policy?table=adult",
    "/views",
    "/audit",
    "/health",
    "/report",
    "/views?verify=shares&verify=groups",
    "/views?verify=by_sex",
)
PHONE = 390
HOURS = "SELECT age, hours_per_week FROM adult"
BUILDS = (
    f"CREATE PROTECTED VIEW shares WITH (method = dp_individual_ranking, k = 25, epsilon = 1) AS {HOURS}",
    f"CREATE PROTECTED VIEW groups WITH (method = dp_microaggregation, k = 50, epsilon = 1) AS {HOURS}",
    "CREATE PRIVACY CUBE by_sex ON adult (sex, education) MEASURES (count(*), sum(age)) WITH (epsilon = 1)",
    "GRANT SELECT ON by_sex TO dpo",
    "GRANT EXACT SELECT ON adult TO dpo",
)
BY_AGE = "SELECT age, count(*) AS people FROM adult WHERE age BETWEEN 20 AND 60 GROUP BY age ORDER BY age"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A page over the example data."""
    file = folder / "dpproxy.toml"
    file.write_text(demo.CONFIG.format(port=0, examples=demo.EXAMPLES))
    for user, role in demo.ROLES.items():
        add_user(folder / "users.toml", user, [role], PASSWORD)
    add_user(folder / "users.toml", OFFICER, ["admin", "dpo"], PASSWORD)
    config = load_config(file)
    with (
        open_databases(config, lambda _line: None) as databases,
        Server(options(config), databases, UsersFile(config.users)).running() as port,
        page(Proxy(port, folder), report=str(folder / "report.html")) as shown,
    ):
        yield f"http://127.0.0.1:{shown}"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        assert not os.environ.get("CI"), "Chromium is to be installed: apt-get install chromium"
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium: Browser, address: str) -> Iterator[Page]:
    """An empty tab; a message of its console, such as a breach of the content security policy, fails the test."""
    context = chromium.new_context(viewport={"width": 1240, "height": 860}, base_url=address)
    tab, said = context.new_page(), []
    tab.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.set_default_timeout(20_000)
    yield tab
    context.close()
    assert not [words for words in said if "401" not in words and "403" not in words], said


def log_in(tab: Page, user: str = demo.ANALYST) -> None:
    tab.goto("/login")
    tab.fill("[name=user]", user)
    tab.fill("[name=password]", PASSWORD)
    tab.click("button.main")
    tab.wait_for_selector("#editor")


def picture(tab: Page, name: str) -> None:
    if PICTURES:
        tab.screenshot(path=f"{PICTURES}/web_{name}.png")


def test_a_login(tab: Page):
    tab.goto("/")
    tab.fill("[name=user]", demo.ANALYST)
    tab.fill("[name=password]", "wrong")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("[role=alert]")
    assert "password authentication failed" in tab.inner_text("[role=alert]")
    log_in(tab)
    assert tab.inner_text("nav [aria-current]") == "Ask"


def test_a_question_with_its_price(tab: Page):
    log_in(tab)
    tab.fill("#statement", BY_RELATIONSHIP)
    tab.wait_for_selector(".price")
    assert "ε 0.1" in tab.inner_text("#price")
    picture(tab, "price")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector(".answer")
    assert tab.locator(".chart .bar").count() == 12
    assert tab.locator("tbody tr").count() == 6
    picture(tab, "answer")
    tab.click("text=Ask >> nth=0")
    tab.fill("#statement", BY_RELATIONSHIP.replace("people", "n"))
    tab.wait_for_selector(".price.free")
    tab.fill("#statement", BY_AGE)
    tab.wait_for_selector(".price:not(.free)")
    tab.click("#run")
    tab.wait_for_selector(".chart .point")


def test_only_the_last_draft_is_shown(tab: Page):
    log_in(tab)
    tab.type("#statement", "SELECT count(*) FROM adult WHERE age < 33", delay=20)
    tab.wait_for_selector(".price")
    tab.fill("#statement", "SELECT age FROM adult")
    tab.wait_for_selector("#price .refusal")
    assert "rows are not shown" in tab.inner_text("#price")


def test_a_refusal(tab: Page):
    log_in(tab)
    tab.fill("#statement", "SELECT relationship, age FROM adult")
    tab.click("#run")
    tab.wait_for_selector("mark")
    assert tab.inner_text("mark") == "relationship"
    picture(tab, "refusal")
    tab.click("text=Use this statement")
    tab.wait_for_selector(".price")
    assert tab.input_value("#statement") == "SELECT relationship, count(*) FROM adult GROUP BY relationship"


def test_a_drained_budget(tab: Page):
    log_in(tab)
    for column in ("agi", "fedtax"):
        tab.fill("#statement", f"SELECT avg({column}) FROM census WHERE agi > 1000")
        tab.click("#run")
        tab.wait_for_selector(".figure")
        tab.goto("/")
    tab.fill("#statement", "SELECT avg(statetax) FROM census WHERE agi > 1000")
    tab.click("#run")
    tab.wait_for_selector(".refusal")
    assert "PD001" in tab.inner_text("#price")


def test_a_change_of_the_policy(tab: Page):
    log_in(tab, demo.ADMINISTRATOR)
    tab.click("nav >> text=Policy")
    tab.click("h2 >> text=adult")
    assert "a count by education, 16 groups" in tab.inner_text("main")
    picture(tab, "policy")
    tab.fill("#statement", "ALTER TABLE adult SET PRIVACY CEILING EPSILON 30")
    tab.click("text=What it changes")
    tab.wait_for_selector(".effect.weaker")
    assert "people are less protected" in tab.inner_text(".effect")
    picture(tab, "change")
    tab.click("text=Make this change")
    tab.wait_for_selector("[role=status]")
    tab.click("nav >> text=Budgets")
    assert "left of 30" in tab.inner_text("main")
    picture(tab, "budgets")
    tab.click("nav >> text=Users")
    tab.click(f"section:has(h2:text-is('{demo.ANALYST}')) summary")
    picture(tab, "users")


def test_the_report(tab: Page, folder: Path):
    log_in(tab, demo.ADMINISTRATOR)
    tab.click("nav >> text=Report")
    assert "People in adult" in tab.inner_text("main")
    assert tab.locator(".sure").count() == 4
    picture(tab, "report")
    with tab.expect_download() as saved:
        tab.click("text=Save it as a file")
    saved.value.save_as(folder / "report.html")
    tab.click("text=Log out")
    tab.goto("/transparency")
    assert "People in adult" in tab.inner_text("main")
    assert not problems(tab)


def test_views_and_a_cube_with_their_figures(tab: Page):
    log_in(tab, OFFICER)
    for statement in BUILDS:
        tab.goto("/policy")
        tab.fill("#statement", statement)
        tab.click("text=What it changes")
        tab.click("text=Make this change")
        tab.wait_for_selector("[role=status]")
    tab.click("nav >> text=Views")
    tab.select_option("select >> nth=0", "shares")
    tab.select_option("select >> nth=1", "groups")
    tab.click("button >> text=Compare")
    assert tab.input_value("select >> nth=1") == "groups"
    assert tab.locator(".chart").count() == 4
    assert tab.locator(".chart .bar").count() == 8
    picture(tab, "views")
    tab.click("section:has(h2:text-is('by_sex')) >> text=Verify it")
    assert tab.locator(".chart").count() == 2
    assert "one standard deviation" in tab.inner_text("main")


def test_a_session_that_ends(tab: Page):
    log_in(tab)
    tab.click("text=Log out")
    tab.wait_for_selector("[name=password]")
    tab.goto("/history")
    assert tab.url.endswith("/login")


def test_a_session_that_the_proxy_ends_and_a_history_that_stays(tab: Page, folder: Path):
    users = folder / "users.toml"
    add_user(users, "eve", ["analyst"], PASSWORD)
    log_in(tab, "eve")
    tab.fill("#statement", "SELECT count(*) -- everybody\nFROM adult")
    tab.click("#run")
    tab.wait_for_selector(".figure")
    with editing(users) as known:
        eve = known.pop("eve")
    tab.goto("/tables")
    tab.wait_for_url("**/login?ended")
    assert "ended" in tab.inner_text("main")
    with editing(users) as known:
        known["eve"] = eve
    log_in(tab, "eve")
    tab.goto("/history")
    tab.click("text=Look at it again")
    tab.wait_for_selector(".price.free")
    assert tab.input_value("#statement") == "SELECT count(*) -- everybody\nFROM adult"


def test_a_phone_in_the_dark(chromium: Browser, address: str):
    context = chromium.new_context(
        viewport={"width": 390, "height": 844},
        base_url=address,
        color_scheme="dark",
        java_script_enabled=False,
    )
    tab = context.new_page()
    log_in(tab)
    tab.fill("#statement", "SELECT sex, count(*) AS people, avg(age) AS age FROM adult GROUP BY sex")
    tab.click("text=Show the price")
    assert "ε 0.1" in tab.inner_text("#price") or "Free" in tab.inner_text("#price")
    tab.click("#run")
    tab.wait_for_selector(".answer")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    picture(tab, "phone")
    context.close()


def test_the_keyboard_reaches_everything(tab: Page):
    log_in(tab)
    reached = []
    for _ in range(24):
        tab.keyboard.press("Tab")
        reached.append(
            tab.evaluate("document.activeElement.textContent.trim() || document.activeElement.name")
        )
    for wanted in (
        "Skip to the content",
        "Tables",
        "History",
        "Log out",
        "statement",
        "epsilon",
        "Show the price",
        "Ask",
    ):
        assert wanted in reached


def test_a_question_by_the_keyboard_alone(tab: Page):
    def reach(selector: str) -> None:
        for _ in range(40):
            if tab.evaluate(f"document.activeElement.matches('{selector}')"):
                return
            tab.keyboard.press("Tab")
        raise AssertionError(f"Tab does not lead to {selector}")

    tab.goto("/login")
    for selector, text in (("[name=user]", demo.ANALYST), ("[name=password]", PASSWORD)):
        reach(selector)
        tab.keyboard.type(text)
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#editor")
    reach("#statement")
    tab.keyboard.type("SELECT relationship, age FROM adult")
    tab.keyboard.press("Control+Enter")
    tab.wait_for_selector("[role=alert]")
    reach("button.hint")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".price")
    reach("#run")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".answer")


@pytest.mark.alone
def test_the_first_page_is_small_and_quick(tab: Page):
    sizes: list[int] = []
    tab.on("response", lambda response: sizes.append(len(response.body())))
    tab.goto("/login")
    tab.wait_for_load_state("networkidle")
    assert sum(sizes) < 100_000
    taken = []
    for _ in range(6):  # the quickest: the machine may have other work
        tab.reload()
        taken.append(tab.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    assert min(taken) < 100


def test_the_report_is_printed(tab: Page):
    log_in(tab, demo.ADMINISTRATOR)
    tab.goto("/report")
    assert tab.pdf().startswith(b"%PDF")
    tab.emulate_media(media="print")
    assert not tab.is_visible("header")
    assert tab.is_visible("text=How it works")


@pytest.mark.parametrize(
    ("user", "paths"), [(demo.ANALYST, PATHS), (OFFICER, ADMINISTRATION)], ids=["asks", "runs it"]
)
def test_axe_has_nothing_to_say(tab: Page, user: str, paths: tuple[str, ...]):
    tab.goto("/login")
    said = problems(tab)
    log_in(tab, user)
    for path in paths:
        tab.goto(path)
        said += problems(tab)
    for statement in (BY_RELATIONSHIP, BY_AGE, "SELECT age FROM adult") if paths is PATHS else ():
        tab.goto("/")
        tab.fill("#statement", statement)
        tab.click("#run")
        tab.wait_for_url("**/answers/*")
        said += problems(tab)
    assert not said


def problems(tab: Page) -> list[str]:
    """What is wrong with a page: by axe, everything in the light and contrast in the dark; and that a phone cuts it."""
    said = []
    wide = tab.viewport_size
    assert wide is not None
    tab.set_viewport_size({"width": PHONE, "height": 844})
    if (width := tab.evaluate("document.documentElement.scrollWidth")) > PHONE:
        said.append(f"{tab.url}: {width} pixels wide on a phone")
    tab.set_viewport_size(wide)
    for scheme, rules in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        tab.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found = AXE.run(tab, options=rules).response
        assert found["passes"]
        said += [
            f"{tab.url}: {one['id']}: {node['html'][:200]}"
            for one in found["violations"]
            for node in one["nodes"]
        ]
    return said
