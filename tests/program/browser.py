"""A headless Chromium that is driven by the DevTools protocol over a pair of pipes."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

CHROMIUM = os.environ.get("SNUG_CHROMIUM") or shutil.which("chromium")
FLAGS = ("--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
         "--password-store=basic", "--use-mock-keychain", "--lang=en-US")
SECONDS = 120


class BrowserError(Exception):
    """Chromium ended, does not answer, or says that a command is wrong."""


class Browser:
    """Starts Chromium. Pages get their own Page object; stop() ends everything."""

    def __init__(self, *flags):
        self.profile = tempfile.TemporaryDirectory(prefix="snug-chromium-", ignore_cleanup_errors=True)
        to_browser, self._write_fd = os.pipe()
        self._read_fd, from_browser = os.pipe()
        # Chromium reads file descriptor 3 and writes 4. Its own sandbox does not work as root.
        command = ["bash", "-c", f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}', CHROMIUM, *FLAGS, *flags,
                   f"--user-data-dir={self.profile.name}", *(["--no-sandbox"] if os.geteuid() == 0 else []),
                   "about:blank"]
        self.log = open(Path(self.profile.name) / "log", "wb")
        self.process = subprocess.Popen(command, pass_fds=(to_browser, from_browser), stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last_id, self._answers, self._listeners = b"", 0, {}, {}

    def stop(self):
        if self.process.poll() is None:
            try:
                self.call("Browser.close")
                self.process.wait(10)
            except (BrowserError, OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait()
        for fd in (self._write_fd, self._read_fd):
            os.close(fd)
        self.log.close()
        self.profile.cleanup()

    def call(self, method, session=None, **parameters):
        """The result of one command of the protocol."""
        self._last_id += 1
        number = self._last_id
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._write_fd, json.dumps(message).encode() + b"\0")
        self.wait_until(lambda: number in self._answers, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def send(self, method, session=None, **parameters):
        """A command whose result nobody needs."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters, "sessionId": session}
        os.write(self._write_fd, json.dumps(message).encode() + b"\0")

    def wait_until(self, done, what, seconds=SECONDS):
        """Handles what Chromium says until done() is true."""
        end = time.monotonic() + seconds
        while not done():
            left = end - time.monotonic()
            if left <= 0:
                raise BrowserError(f"Chromium: {what} took over {seconds} s")
            if select.select([self._read_fd], [], [], min(left, 0.05))[0]:
                self._read(what)

    def _read(self, what):
        data = os.read(self._read_fd, 1 << 20)
        if not data:
            raise BrowserError(f"Chromium ended during {what}; exit code {self.process.poll()}")
        self._buffer += data
        *messages, self._buffer = self._buffer.split(b"\0")
        for text in messages:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            elif message.get("sessionId") in self._listeners:
                self._listeners[message["sessionId"]](message["method"], message["params"])

    def page(self, width=1280, height=800, scheme="light"):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        self._listeners[session] = page.handle
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.show(width, height, scheme)
        return page


class Page:
    """One tab. `problems` has each console error, exception and refused resource."""

    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session
        self.problems, self.requests, self.replies, self.scheme = [], [], {}, "light"

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def handle(self, method, event):
        if method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning", "assert"):
            self.problems.append(" ".join(str(part.get("value", part.get("description"))) for part in event["args"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"{event['entry']['text']} {event['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(event["request"]["url"])
        elif method == "Fetch.requestPaused":
            self._answer(event)

    def show(self, width, height, scheme, scale=1):
        self.scheme = scheme
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                          {"name": "prefers-reduced-motion", "value": "reduce"}])

    def answer(self, replies):
        """From now on, requests to these paths get these replies: {path: (status, value or text)}."""
        self.replies = replies
        if replies:
            self.call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        else:
            self.call("Fetch.disable")

    def _answer(self, event):
        path = "/" + event["request"]["url"].split("://", 1)[1].partition("/")[2]
        reply = self.replies.get(path, self.replies.get(path.partition("?")[0]))
        if reply is None:
            self.browser.send("Fetch.continueRequest", self.session, requestId=event["requestId"])
            return
        status, value = reply
        body = value if isinstance(value, str) else json.dumps(value)
        self.browser.send("Fetch.fulfillRequest", self.session, requestId=event["requestId"], responseCode=status,
                          responseHeaders=[{"name": "Content-Type", "value": "application/json; charset=utf-8"}],
                          body=base64.b64encode(body.encode()).decode())

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        """The value of a JavaScript expression; promises are awaited."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            details = done["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return done["result"].get("value")

    def wait(self, script, seconds=SECONDS):
        """Waits until the expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > end:
                raise BrowserError(f"still not true after {seconds} s: {script}; the page says: "
                                   f"{self.run('document.body.innerText.slice(0, 600)')!r}; {self.problems}")
            time.sleep(0.02)

    def press(self, *keys):
        for key in keys:
            text = {"Enter": "\r", " ": " "}.get(key, key if len(key) == 1 else "")
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, text=text if kind == "keyDown" else "",
                          windowsVirtualKeyCode={"Enter": 13, "Tab": 9, "Escape": 27, "Home": 36, "End": 35, "ArrowLeft": 37,
                                                 "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}.get(
                                                     key, ord(key.upper()[0])))

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" else "left",
                      clickCount=0 if kind == "mouseMoved" else 1)

    def picture(self, path):
        """Writes what the window shows as .png or .webp."""
        kind = Path(path).suffix[1:]
        quality = {"quality": 70} if kind == "webp" else {}
        Path(path).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format=kind, **quality)["data"]))
