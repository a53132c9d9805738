"""One server for all browser tests, one browser for each file of them, a page and a kernel for each test."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from browser.jupyterlab import CHECKOUT, NotebookPage, launch, serving
from playwright.sync_api import Error as PlaywrightError
from playwright.sync_api import sync_playwright


def results_folder() -> Path:
    folder = Path(os.environ.get("LABKIT_TEST_RESULTS", CHECKOUT / "test-results")) / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep a picture of what the page looked like when a test failed."""
    report = yield
    if report.failed and "context" in item.funcargs:
        name = re.sub(r"[^\w-]+", "-", item.name)[:100]
        for n, page in enumerate(item.funcargs["context"].pages, 1):
            with suppress(PlaywrightError):  # the page itself may be what broke
                page.screenshot(path=results_folder() / f"failed-{name}-{n}.png")
    return report


@pytest.fixture(scope="session")
def results() -> Path:
    """Where screenshots are kept: LABKIT_TEST_RESULTS, or test-results/, which git ignores."""
    return results_folder()


@pytest.fixture(scope="session")
def labs(tmp_path_factory) -> Path:
    """A copy of the labs, students' and solved, brought up to date with their scripts."""
    root = tmp_path_factory.mktemp("labs")
    for folder in ("solutions", "notebooks"):
        for file in sorted((CHECKOUT / folder).glob("[0-9][0-9]_*")):
            (root / folder).mkdir(exist_ok=True)
            shutil.copy(file, root / folder)
    build = [sys.executable, "-m", "labkit", "build", "--root", str(root)]
    done = subprocess.run(build, cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope="session")
def server(labs, tmp_path_factory):
    with serving(labs, tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="module")
def browser():
    """Playwright keeps an event loop running in this thread; closed with each file, it disturbs no other tests."""
    with sync_playwright() as playwright, launch(playwright) as running:
        yield running


@pytest.fixture(scope="module")
def context(browser):
    """What the pages of one file share; JupyterLab itself is loaded once."""
    with browser.new_context(viewport={"width": 1200, "height": 900}, color_scheme="light") as shared:
        yield shared


@pytest.fixture(scope="module")
def open_notebook(context, server):
    """Open a notebook by its path from the labs' root, in a `with` that closes it and ends its kernel."""

    @contextmanager
    def opened(path):
        page = context.new_page()
        try:
            yield NotebookPage.open(page, server, path)
        finally:
            page.close()
            server.shut_down_kernel(path)

    return opened
