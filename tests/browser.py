"""A real browser for pages: Debian's chromium driven by playwright."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install the package 'chromium'")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


@contextmanager
def opened(page_path: Path, *, width: int = 1200, dark: bool = False):
    """The page in a browser, and what it complained about: console messages and network requests."""
    from playwright.sync_api import sync_playwright

    troubles: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light")
        page.on("console", lambda m: troubles.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: troubles.append(str(e)))
        page.on(
            "request", lambda r: troubles.append(r.url) if not r.url.startswith(("file:", "data:", "blob:")) else None
        )
        page.goto(page_path.as_uri())
        page.wait_for_load_state("load")
        yield page, troubles
        browser.close()
