"""A real JupyterLab and a real Chromium, for tests and benchmarks that need the page a student sees.

Nothing here touches the settings, kernels or servers of whoever runs it, and nothing is asked of the network.
"""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, Playwright
from playwright.sync_api import TimeoutError as TooLate

CHECKOUT = Path(__file__).parents[2]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
SETTINGS = {
    # All cells are in the page, not only those in sight.
    "notebook-extension/tracker": {"windowingMode": "none"},
    "apputils-extension/notification": {"fetchNews": "false"},
    # The theme follows what the browser says it prefers, so one server serves both.
    "apputils-extension/themes": {"adaptive-theme": True},
}
ERROR = "application/vnd.jupyter.error"
STDERR = "application/vnd.jupyter.stderr"


class NoBrowserError(Exception):
    """There is no Chromium to drive."""


def find_chromium(playwright: Playwright) -> str:
    """The path of a Chromium: the one that is asked for, one that is installed, or Playwright's own."""
    named = os.environ.get("LABKIT_CHROMIUM")
    found = [named] if named else [*map(shutil.which, BROWSERS), playwright.chromium.executable_path]
    for path in found:
        if path and Path(path).exists():
            return path
    raise NoBrowserError(
        f"The browser tests need Chromium; there is no {named or ', '.join(BROWSERS)}. Install it: `apt-get install "
        "chromium` on Debian, `brew install --cask chromium` on a Mac, or `python -m playwright install chromium` "
        "anywhere; or name one in LABKIT_CHROMIUM."
    )


def launch(playwright: Playwright) -> Browser:
    return playwright.chromium.launch(executable_path=find_chromium(playwright), args=SWITCHES)


# ---- the server ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Server:
    """A running JupyterLab: its address, its token, and the folder that it shows."""

    url: str
    token: str
    root: Path

    def address(self, path: str) -> str:
        return f"{self.url}/lab/tree/{path}?reset&token={self.token}"

    def ask(self, method: str, path: str):
        """Ask the server's own interface, and give what it answers."""
        headers = {"Authorization": f"token {self.token}"}
        with urllib.request.urlopen(urllib.request.Request(self.url + path, headers=headers, method=method)) as reply:
            return json.loads(reply.read() or "null")

    def shut_down_kernel(self, path: str) -> None:
        """End the kernel of one notebook, if it has any."""
        for session in self.ask("GET", "/api/sessions"):
            if session["path"] == path:
                self.ask("DELETE", f"/api/sessions/{session['id']}")


@contextmanager
def serving(root: Path, home: Path) -> Iterator[Server]:
    """Serve the notebooks under `root` with settings of its own, kept in `home`."""
    server = Server(f"http://127.0.0.1:{free_port()}", secrets.token_hex(), root)
    log = home / "server.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command(server), env=environment(home, server.token), stdout=output, stderr=output, stdin=subprocess.DEVNULL
        )
        try:
            wait_for(server, process, log)
            yield server
        finally:
            stop(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def command(server: Server) -> list[str]:
    options = {"ip": "127.0.0.1", "port": server.url.rsplit(":", 1)[1], "port_retries": 0, "root_dir": server.root}
    start = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    return start + [f"--ServerApp.{name}={value}" for name, value in options.items()]


def environment(home: Path, token: str) -> dict[str, str]:
    """The caller's environment less its Jupyter, with folders of our own in place of it."""
    for name, settings in SETTINGS.items():
        file = home / "settings" / "@jupyterlab" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "PYTEST"))}
    return kept | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "JUPYTER_TOKEN": token,
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONPATH": str(CHECKOUT),
    }


def wait_for(server: Server, process: subprocess.Popen, log: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        try:
            server.ask("GET", "/api/status")
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start within {seconds:g} seconds. It said:\n{log.read_text()[-3000:]}")


def stop(process: subprocess.Popen) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


# ---- a notebook in the page ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Card:
    """What a check shows: "✓ softmax: passed · 2 of 2 points", and below it what it has to say.

    Of a guess, "→ my_ratio: guessed · no points at stake".
    """

    exercise: str
    status: str
    points: float
    max_points: float
    message: str


CARD = re.compile(
    r"^\S (?P<exercise>\w+): (?P<status>[\w ]+?) · "
    r"(?:(?P<points>[\d.]+) of (?P<max_points>[\d.]+) points?|no points at stake)\b"
)


def read_card(text: str) -> Card:
    head = CARD.match(text)
    if not head:
        raise AssertionError(f"a card begins with a mark, the exercise, its status and the points; got {text!r}")
    exercise, status, points, max_points = head.groups()
    return Card(exercise, status, float(points or 0), float(max_points or 0), text[head.end() :].strip())


# True when every cell that was queued has finished, or one has failed and the rest were let go.
ALL_DONE = """() => {
    const cells = [...document.querySelectorAll('.jp-CodeCell')].filter(
        cell => cell.querySelector('.cm-content').textContent.trim());
    const prompts = cells.map(cell => cell.querySelector('.jp-InputPrompt').textContent);
    const failed = document.querySelector('[data-mime-type="application/vnd.jupyter.error"]');
    return !prompts.some(p => p.includes('*')) && (failed || prompts.every(p => /\\d/.test(p)));
}"""
# The whole notebook's height beyond what is in sight.
HIDDEN_HEIGHT = """() => {
    const scroller = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer');
    return scroller.scrollHeight - scroller.clientHeight;
}"""
TO_THE_TOP = """() => {
    document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer').scrollTop = 0;
    return new Promise(painted => requestAnimationFrame(() => requestAnimationFrame(painted)));
}"""


class NotebookPage:
    """One notebook, open in JupyterLab."""

    def __init__(self, page: Page):
        self.page = page
        self.cells = page.locator(".jp-Notebook .jp-CodeCell")
        self.outputs = page.locator(".jp-Notebook .jp-OutputArea-output")

    @classmethod
    def open(cls, page: Page, server: Server, path: str) -> "NotebookPage":
        page.goto(server.address(path))
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        # Before the kernel is there, Run All is either lost or asks which kernel to take.
        page.locator(".jp-KernelName", has_text="Python 3").wait_for()
        page.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').wait_for()
        return cls(page)

    def run_all(self, seconds: float = 90) -> None:
        """Clear what was there and run all cells, through the menus. A click may be lost: then click again."""
        self.menu("Edit", "Clear Outputs of All Cells")
        for _ in range(5):
            self.menu("Run", "Run All Cells")
            if self.has_begun():
                break
        self.wait_until_done(seconds)

    def menu(self, name: str, entry: str) -> None:
        self.page.get_by_role("menuitem", name=name, exact=True).first.click()
        self.page.get_by_role("menuitem", name=entry, exact=True).click()

    def has_begun(self) -> bool:
        prompt = self.page.locator(".jp-CodeCell .jp-InputPrompt", has_text=re.compile(r"[*\d]")).first
        question = self.page.locator(".jp-Dialog")
        try:
            prompt.or_(question).first.wait_for(timeout=5000)
        except TooLate:
            return False
        if question.is_visible():  # which kernel to take
            question.get_by_role("button", name="Select", exact=True).click()
            return False
        return True

    def wait_until_done(self, seconds: float) -> None:
        try:
            self.page.wait_for_function(ALL_DONE, timeout=1000 * seconds)
        except TooLate:
            said = self.page.locator(".jp-Dialog").all_inner_texts()
            prompts = self.cells.locator(".jp-InputPrompt").all_inner_texts()
            raise AssertionError(f"not done after {seconds:g} s: {prompts}; dialogs: {said}") from None

    def cell(self, text: str) -> Locator:
        """The one code cell whose source holds this text."""
        return self.cells.filter(has=self.page.locator(".cm-content", has_text=text))

    def write(self, cell: Locator, source: str) -> None:
        """Replace a cell's source, as pasting does."""
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(source)

    def run(self, cell: Locator, seconds: float = 30) -> None:
        """Run one cell from the keyboard and wait until it has finished."""
        prompt = cell.locator(".jp-InputPrompt")
        before = prompt.inner_text()
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function(
            "([prompt, before]) => /\\d/.test(prompt.textContent) && prompt.textContent.trim() !== before.trim()",
            arg=[prompt.element_handle(), before],
            timeout=1000 * seconds,
        )

    def answer(self, cell: Locator, source: str) -> Card:
        """Put this into a cell that ends in a check, run it, and read what the check says."""
        self.write(cell, source)
        self.run(cell)
        return read_card(cell.get_by_role("status").inner_text())

    def cards(self) -> list[Card]:
        return [read_card(text) for text in self.outputs.get_by_role("status").all_inner_texts()]

    def errors(self) -> list[str]:
        """Tracebacks, and whatever was written to the error stream."""
        return self.page.locator(f'[data-mime-type="{ERROR}"], [data-mime-type="{STDERR}"]').all_inner_texts()

    def output_text(self) -> str:
        return "\n".join(self.outputs.all_inner_texts())

    def prefer(self, theme: str) -> None:
        """Change between "light" and "dark", as a system-wide switch does."""
        self.page.emulate_media(color_scheme=theme)
        self.page.locator(f'body[data-jp-theme-light="{"true" if theme == "light" else "false"}"]').wait_for(
            state="attached"
        )
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")  # it lies over the page while a theme loads

    def screenshot(self, path: Path) -> None:
        """A picture of the whole notebook, in a window as tall as that takes."""
        width, height = 1200, 900
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.set_viewport_size({"width": width, "height": height + self.page.evaluate(HIDDEN_HEIGHT)})
        self.page.evaluate(TO_THE_TOP)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.locator(".jp-NotebookPanel-notebook").screenshot(path=path)
        self.page.set_viewport_size({"width": width, "height": height})
