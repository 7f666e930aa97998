#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Opens a local HTML or SVG file in a headless Chromium, and prints as JSON what happened.

page.py FILE [--light | --dark] [--print] [--width N] [--height N] [--screenshot OUT.png] [--text OUT.txt]
        [--timeout SECONDS] [--check]

    text        the visible text
    console     messages of the console, and of the browser about the page: violations of a Content Security Policy,
                requests that failed
    errors      those of level error or warning, and exceptions
    requests    the URLs of all requests but that of FILE itself and of what the page contains (data: and blob: URLs);
                connections that the page asks for in advance
    scripts     each script that ran, also a handler in an attribute: its line and its beginning
    hacked      the value of window.hacked, which names with markup in a test set; dialogs that a script opened
    wide        elements that reach beyond the viewport's width, if the page can be scrolled to the side
    overlaps    pairs of texts that cover each other
    clipped     texts of a drawing that its border cuts off
    load_ms     from the navigation to the second frame after the event load
    problems    the names of those of errors, requests, hacked, wide, overlaps, clipped that are not empty

Exit status: 0 the page was opened, whatever happened; with --check only if there are no problems. 1 it was not
opened, or with --check has problems. 77: there is no Chromium.

The browser is driven through two pipes (--remote-debugging-pipe): messages of the DevTools protocol, each ended by
a zero byte. Names are not resolved, so that a request of the page goes nowhere, but is seen.
"""
import argparse
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

FLAGS = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
         "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--disable-extensions", "--disable-breakpad", "--hide-scrollbars", "--mute-audio",
         "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND", "--no-proxy-server"]
LISTS = ("errors", "requests", "hacked", "wide", "overlaps", "clipped")


class Failure(Exception):
    """The browser or the page did not do what was asked."""


def sandboxed():
    """Can the browser's processes have user namespaces here? As root, Chromium refuses to."""
    return os.getuid() != 0 and subprocess.run(
        ["unshare", "-U", "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


class Browser:
    """A Chromium of its own, with its own profile; ended with all its processes."""

    def __init__(self, program, limit):
        self.deadline = time.monotonic() + limit
        self.dir = tempfile.mkdtemp(prefix="page-")
        self.log = open(os.path.join(self.dir, "log"), "w+b")
        there, self.out = os.pipe()
        self.inp, back = os.pipe()
        # Copies above the descriptors 3 and 4, which are then free for the browser.
        there, back = [self.above(fd) for fd in (there, back)]
        # Not those of ruse, of a sanitizer or of a session.
        env = {"PATH": os.environ["PATH"], "HOME": self.dir, "TMPDIR": self.dir, "LANG": "C.UTF-8"}
        flags = FLAGS + ([] if sandboxed() else ["--no-sandbox"]) + ["--user-data-dir=" + self.dir + "/profile"]

        def descriptors():
            os.dup2(there, 3)
            os.dup2(back, 4)

        self.process = subprocess.Popen([program] + flags + ["about:blank"], env=env, stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, close_fds=False, pass_fds=(),
                                        preexec_fn=descriptors, start_new_session=True)
        os.close(there)
        os.close(back)
        self.buffer = b""
        self.events = []
        self.next = 0
        self.handlers = []

    @staticmethod
    def above(fd):
        new = fcntl.fcntl(fd, fcntl.F_DUPFD, 10)
        os.close(fd)
        os.set_inheritable(new, False)
        return new

    def end(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.log.close()
        # A process of the browser may still write to its profile.
        for _ in range(50):
            shutil.rmtree(self.dir, ignore_errors=True)
            if not os.path.exists(self.dir):
                break
            time.sleep(0.1)

    def words(self):
        """What the browser has printed."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")[-2000:]

    def message(self):
        """The next message of the browser."""
        while b"\0" not in self.buffer:
            left = self.deadline - time.monotonic()
            if left <= 0 or not select.select([self.inp], [], [], left)[0]:
                raise Failure("the browser did not answer in time")
            data = os.read(self.inp, 1 << 20)
            if not data:
                raise Failure("the browser has ended: " + self.words())
            self.buffer += data
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def event(self):
        """Takes one message, which answers no call, to the handlers."""
        message = self.message()
        if "method" in message:
            for handler in self.handlers:
                handler(message["method"], message.get("params", {}), message.get("sessionId"))
        return message

    def post(self, method, session=None, **params):
        """Sends a call; returns its number."""
        self.next += 1
        call = {"id": self.next, "method": method, "params": params}
        if session:
            call["sessionId"] = session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        return self.next

    def call(self, method, session=None, **params):
        """Sends a call; returns its result."""
        number = self.post(method, session, **params)
        while True:
            message = self.event()
            if message.get("id") == number:
                if "error" in message:
                    raise Failure(f"{method}: {message['error']['message']}")
                return message["result"]


class Page:
    """What is seen of one page and of its frames and workers, each of which has a session."""

    def __init__(self, browser, url):
        self.browser = browser
        self.url = url
        self.console, self.errors, self.requests, self.scripts, self.hacked = [], [], [], [], []
        self.loaded = False
        self.own = 0    # how often FILE was requested as the page
        browser.handlers.append(self.event)
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        browser.call("Page.enable", self.session)
        self.watch(self.session)

    def watch(self, session):
        for domain in ("Network", "Log", "Runtime", "Debugger"):
            self.browser.post(domain + ".enable", session)
        self.browser.post("Target.setAutoAttach", session, autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def tell(self, level, source, text):
        self.console.append({"level": level, "source": source, "text": text})
        if level in ("error", "warning", "assert"):
            self.errors.append(text)

    def request(self, url, kind):
        if url == self.url and kind == "Document" and not self.own:
            self.own = 1
        elif not url.startswith(("data:", "about:", "blob:")):
            self.requests.append(url)

    def event(self, method, params, session):
        if method == "Target.attachedToTarget" and session:
            self.watch(params["sessionId"])
            self.browser.post("Runtime.runIfWaitingForDebugger", params["sessionId"])
        elif method == "Network.requestWillBeSent":
            self.request(params["request"]["url"], params.get("type"))
        elif method in ("Network.webSocketCreated", "Network.webTransportCreated"):
            self.requests.append(params["url"])
        elif method == "Log.entryAdded":
            entry = params["entry"]
            self.tell(entry["level"], entry["source"], " ".join([entry["text"], entry.get("url", "")]).strip())
        elif method == "Runtime.consoleAPICalled":
            words = [str(a.get("value", a.get("description", a["type"]))) for a in params["args"]]
            self.tell(params["type"], "console", " ".join(words))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.tell("error", "exception", details.get("exception", {}).get("description") or details["text"])
        elif method == "Debugger.scriptParsed" and params["url"] and not params["url"].startswith("page.py"):
            self.scripts.append({"id": params["scriptId"], "session": session, "line": params["startLine"] + 1,
                                 "url": params["url"]})
        elif method == "Page.javascriptDialogOpening":
            self.hacked.append(f"{params['type']}: {params['message']}")
            self.browser.post("Page.handleJavaScriptDialog", session, accept=False)
        elif method == "Page.loadEventFired":
            self.loaded = True

    def evaluate(self, text):
        """The value of an expression, of which a promise is awaited."""
        result = self.browser.call("Runtime.evaluate", self.session, expression=text + "\n//# sourceURL=page.py",
                                   returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise Failure("page_measure.js: " + json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def open(self):
        """Navigates, and waits for the event load and two frames."""
        start = time.monotonic()
        self.loaded = False
        error = self.browser.call("Page.navigate", self.session, url=self.url).get("errorText")
        if error:
            raise Failure(f"{self.url}: {error}")
        while not self.loaded:
            self.browser.event()
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return round((time.monotonic() - start) * 1000)

    def beginnings(self):
        """The scripts, with the beginning of their text instead of the protocol's numbers."""
        for script in list(self.scripts):
            source = self.browser.call("Debugger.getScriptSource", script.pop("session"),
                                       scriptId=script.pop("id"))["scriptSource"]
            script["text"] = " ".join(source.split())[:80]
        return self.scripts


def look(browser, args):
    """Opens the page as args say; returns what is printed."""
    page = Page(browser, pathlib.Path(args.file).resolve(strict=True).as_uri())
    session = page.session
    browser.call("Emulation.setDeviceMetricsOverride", session, width=args.width, height=args.height,
                 deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", session, media="print" if args.print else "screen",
                 features=[{"name": "prefers-color-scheme", "value": "dark" if args.dark else "light"}])
    load_ms = page.open()
    # For what happens a moment after the event load: images that fail, timers.
    page.evaluate("new Promise(done => setTimeout(done, %d))" % args.settle)
    here = pathlib.Path(__file__).with_name("page_measure.js").read_text(encoding="utf-8")
    seen = page.evaluate(here)
    if args.screenshot:
        shot = browser.call("Page.captureScreenshot", session, format="png", captureBeyondViewport=args.whole)
        pathlib.Path(args.screenshot).write_bytes(base64.b64decode(shot["data"]))
    if args.text:
        pathlib.Path(args.text).write_text(seen["text"] + "\n", encoding="utf-8")
    result = {"file": args.file, "text": seen["text"], "title": seen["title"], "console": page.console,
              "errors": page.errors, "requests": page.requests + seen["ahead"], "scripts": page.beginnings(),
              "hacked": page.hacked + seen["hacked"], "wide": seen["wide"], "overlaps": seen["overlaps"],
              "clipped": seen["clipped"], "elements": seen["elements"], "load_ms": load_ms}
    result["problems"] = [name for name in LISTS if result[name]]
    return result


def main():
    parser = argparse.ArgumentParser(description="Opens a page in a headless Chromium; prints JSON.")
    parser.add_argument("file")
    parser.add_argument("--light", action="store_true", help="the default")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--print", action="store_true", help="as printed")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--screenshot", metavar="OUT.png")
    parser.add_argument("--whole", action="store_true", help="the screenshot shows the whole page")
    parser.add_argument("--text", metavar="OUT.txt")
    parser.add_argument("--settle", type=int, default=200, metavar="MS", help="wait after the page is loaded")
    parser.add_argument("--timeout", type=float, default=120, metavar="SECONDS")
    parser.add_argument("--check", action="store_true", help="exit status 1 if there are problems")
    args = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        print("SKIP: there is no chromium here (scripts/deps --test)")
        return 77
    browser = Browser(program, args.timeout)
    try:
        result = look(browser, args)
    except (Failure, OSError) as error:
        print(f"page.py: {error}", file=sys.stderr)
        return 1
    finally:
        browser.end()
    json.dump(result, sys.stdout, indent=1, ensure_ascii=False)
    print()
    return int(args.check and bool(result["problems"]))


if __name__ == "__main__":
    sys.exit(main())
