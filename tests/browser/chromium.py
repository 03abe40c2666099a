"""A real Chromium, driven over two pipes: no sockets, no driver program, and true mouse, keyboard, drag and download events."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# The browser reads commands from descriptor 3 and answers on 4.
_LAUNCH: Final = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
PATIENCE: Final = 300.0  # seconds for anything to happen, on a busy machine


def find() -> str | None:
    """The browser's path; None where there is none."""
    named = os.environ.get("RECOLORIST_CHROMIUM")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


class Chromium:
    """One browser with one tab."""

    def __init__(self, program: str, profile: Path) -> None:
        self.downloads = profile / "downloads"
        self.downloads.mkdir(parents=True)
        read_commands, self._commands = os.pipe()
        self._answers, write_answers = os.pipe()
        options = [*_FLAGS, f"--user-data-dir={profile / 'profile'}", "about:blank"]
        self._process = subprocess.Popen(  # noqa: S603 - a browser found by its name
            [sys.executable, "-c", _LAUNCH, str(read_commands), str(write_answers), program, *options],
            pass_fds=(read_commands, write_answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_commands)
        os.close(write_answers)
        self.events: list[dict[str, Any]] = []
        self._replies: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._last = 0
        self._session: str | None = None
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser that was started here, and no other."""
        try:
            self._session = None
            self.send("Browser.close")
            self._process.wait(PATIENCE)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._commands)

    # ---- the protocol ---------------------------------------------------------------------------------------------------

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        with self._changed:
            self._last += 1
            number = self._last
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        with self._changed:
            if not self._changed.wait_for(lambda: number in self._replies, PATIENCE):
                raise TimeoutError(f"the browser did not answer {method}")
            reply = self._replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return dict(reply["result"])

    def _listen(self) -> None:
        pending = b""
        while piece := os.read(self._answers, 1 << 20):
            *messages, pending = (pending + piece).split(b"\0")
            with self._changed:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._replies[message["id"]] = message
                    else:
                        self.events.append(message)
                self._changed.notify_all()
        os.close(self._answers)

    def _attach(self) -> None:
        targets = self.send("Target.getTargets")["targetInfos"]
        tab = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.send("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.send(f"{domain}.enable")
        self.send("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        self.send("Browser.setDownloadBehavior", behavior="allowAndName", downloadPath=str(self.downloads), eventsEnabled=True)

    # ---- what a person does ---------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Undo what tests change of the browser."""
        self.send("Emulation.setEmulatedMedia", features=[])
        self.window(1280, 900)

    def open(self, address: str) -> None:
        self.send("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        reply = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in reply:
            details = reply["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return reply["result"].get("value")

    def wait(self, expression: str, patience: float = PATIENCE) -> Any:
        """Wait until an expression becomes true."""
        return wait_for(lambda: self.run(expression), patience, expression)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def place(self, selector: str) -> tuple[float, float, float, float]:
        """Left, top, width, height, after scrolling it into view."""
        box = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()"
        )
        return box[0], box[1], box[2], box[3]

    def click(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        left, top, width, height = self.place(selector)
        self.mouse("mousePressed", left + across * width, top + down * height)
        self.mouse("mouseReleased", left + across * width, top + down * height)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        button = "none" if kind in ("mouseMoved", "mouseWheel") and not more.get("buttons") else "left"
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1, **more)

    def drag(self, start: tuple[float, float], end: tuple[float, float], steps: int = 5) -> None:
        self.mouse("mousePressed", *start)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, buttons=1)
        self.mouse("mouseReleased", *end)

    def key(self, name: str, text: str = "") -> None:
        codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Home": 36, "End": 35, "Enter": 13}
        code = codes.get(name, ord(text.upper()) if text.isalnum() else 0)
        shared = {"key": name, "windowsVirtualKeyCode": code, "code": name}
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **shared)
        self.send("Input.dispatchKeyEvent", type="keyUp", **shared)

    def choose(self, selector: str, *paths: Path) -> None:
        """Choose files as the file dialogue would."""
        root = self.send("DOM.getDocument")["root"]["nodeId"]
        node = self.send("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.send("DOM.setFileInputFiles", nodeId=node, files=[str(path) for path in paths])

    def drop(self, selector: str, *paths: Path) -> None:
        """Drag files from the desktop onto an element."""
        left, top, width, height = self.place(selector)
        data = {"items": [], "files": [str(path) for path in paths], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.send("Input.dispatchDragEvent", type=kind, x=left + width / 2, y=top + height / 2, data=data)

    def download(self, selector: str) -> tuple[str, bytes]:
        """Click on something, wait for the download it starts to be complete, and return its name and bytes."""
        seen = len(self.events)
        self.click(selector)
        begun = wait_for(lambda: self._event("Browser.downloadWillBegin", seen), PATIENCE, f"a download from {selector}")
        finished = {"guid": begun["guid"], "state": "completed"}
        wait_for(lambda: self._event("Browser.downloadProgress", seen, **finished), PATIENCE, "the end of the download")
        path = self.downloads / str(begun["guid"])
        data = path.read_bytes()
        path.unlink()
        return str(begun["suggestedFilename"]), data

    def _event(self, method: str, since: int, **values: Any) -> dict[str, Any] | None:
        """The first event of this kind with these values, after so many others."""
        found = (event["params"] for event in self.events[since:] if event["method"] == method)
        return next((event for event in found if values.items() <= event.items()), None)

    def window(self, width: int, height: int, ratio: float = 1.0) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=False)

    def prefer(self, scheme: str) -> None:
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        path.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))


def wait_for(happened: Callable[[], Any], patience: float, what: str) -> Any:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if value := happened():
            return value
        time.sleep(0.01)
    raise TimeoutError(f"waited {patience:g} s in vain for: {what}")
