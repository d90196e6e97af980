"""A browser without a screen, and what is wanted of its pages."""

import os
import shutil
import time
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
# The program that `cargo build --tests` has made, or another one.
JOSTLE = Path(os.environ.get("JOSTLE", ROOT / "target/debug/jostle"))
# Names under which systems have it; else the one that `playwright install chromium-headless-shell` has put in place.
NAMES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
# No graphics card is needed, and no user namespaces.
ARGUMENTS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


class Absent(Exception):
    """There is no browser, and how to get one."""


class Browser:
    """A browser that ends with the `with` that began it."""

    def __enter__(self):
        self.playwright = sync_playwright().start()
        found = os.environ.get("JOSTLE_TEST_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)
        try:
            self.browser = self.playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        except Error as error:
            self.playwright.stop()
            how = "apt-get install chromium-headless-shell, or playwright install chromium-headless-shell"
            raise Absent(f"no browser can be started ({how}): {str(error).splitlines()[0]}") from error
        return self

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()

    def page(self, size=(1280, 900)):
        """An empty page, and the list of all that it will complain about."""
        page = self.browser.new_page(viewport=dict(zip(("width", "height"), size)))
        complaints = []
        page.on("console", lambda m: complaints.append(m.text))
        page.on("pageerror", lambda e: complaints.append(str(e)))
        page.on("requestfailed", lambda r: complaints.append(f"failed: {r.url[:99]}"))
        allowed = ("file:", "data:", "blob:", "http://127.0.0.1:")
        page.on("request", lambda r: r.url.startswith(allowed) or complaints.append(f"elsewhere: {r.url[:99]}"))
        page.on("dialog", lambda dialog: dialog.accept())
        return page, complaints


def wait(page, condition, argument=None, seconds=60):
    """Until the page says so. Asked from outside: its own rules forbid it to evaluate text."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if page.evaluate(condition, argument):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"in {seconds} s it did not become true that {condition}")
