"""A headless Chromium that tests can open pages in, spoken to over a pipe: no driver, no port, no package.

Chromium reads commands of the DevTools protocol on file 3 and answers on file 4, each a JSON text that ends in a zero
byte (``--remote-debugging-pipe``).
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import time

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SETTING = "BOOSTSOFT_CHROMIUM"  # names the browser; where it is set, a missing one is a failure and no skip
SECONDS = 60
_ON_FILES_3_AND_4 = """
import fcntl, os, sys
moved = [fcntl.fcntl(int(file), fcntl.F_DUPFD, 10) for file in sys.argv[1:3]]
for file, place in zip(moved, (3, 4)):
    os.dup2(file, place)
os.execv(sys.argv[3], sys.argv[3:])
"""


def found_chromium():
    """The browser's path, or a skip with the reason."""
    named = os.environ.get(SETTING)
    if named:
        path = shutil.which(named)
        assert path, f"{SETTING} names {named!r}, which is not there"
        return path
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"needs Chromium (Debian: apt install chromium); none of {', '.join(NAMES)} is on the PATH")
    return path


class Browser:
    """One tab; what goes wrong in the page is kept in ``errors``."""

    def __init__(self, path, profile, size=(1200, 1700)):
        ours, theirs = os.pipe(), os.pipe()  # commands, answers
        flags = [
            "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}", "--no-first-run",
            "--no-sandbox",  # containers and root have none, and the page is our own
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--window-size={size[0]},{size[1]}",
        ]  # fmt: skip
        command = [sys.executable, "-c", _ON_FILES_3_AND_4, str(ours[0]), str(theirs[1]), path, *flags, "about:blank"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=(ours[0], theirs[1]), **quiet)
        os.close(ours[0])
        os.close(theirs[1])
        self._to, self._from, self._rest, self._count, self._session = ours[1], theirs[0], b"", 0, None
        self.errors = []
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method, **parameters):
        """Give a command and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def open(self, path):
        """Open a file and wait until it is loaded."""
        self.errors.clear()
        self.send("Page.navigate", url=path.as_uri())
        self.wait("document.readyState === 'complete'")

    def ask(self, expression):
        """The value of a JavaScript expression."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, expression):
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.ask(expression):
            assert time.monotonic() < end, f"waited in vain for {expression}"
            time.sleep(0.05)

    def point(self, selector, x=0.5, y=0.5):
        """Move the mouse onto an element, to a share of its width and height, and return the place."""
        shown = f"(e => {{ e.scrollIntoView({{block: 'center'}}); return e }})(document.querySelector({selector!r}))"
        box = json.loads(self.ask(f"JSON.stringify({shown}.getBoundingClientRect())"))
        place = {"x": box["x"] + x * box["width"], "y": box["y"] + y * box["height"]}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", **place)
        return place

    def click(self, selector):
        """Click on an element as a user would: nothing happens if it is hidden or covered."""
        place = self.point(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def close(self):
        """End the browser."""
        try:
            self._session = None
            if self._process.poll() is None:
                self.send("Browser.close")
                self._process.wait(SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._to)
            os.close(self._from)

    def _next(self):
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready = select.select([self._from], [], [], max(end - time.monotonic(), 0))[0]
            assert ready, "the browser does not answer"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(event["params"]["exceptionDetails"])
        if event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
            self.errors.append(event["params"]["entry"]["text"])
        if event.get("method") == "Page.javascriptDialogOpening":
            self.errors.append(f"dialog: {event['params']['message']}")
