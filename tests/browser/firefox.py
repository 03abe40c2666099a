"""A real Firefox, driven over Marionette, the remote control that every Firefox has built in: no driver program is needed."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.browser.chromium import PATIENCE, wait_for

_NAMES: Final = ("firefox-esr", "firefox")
# No port is fixed, nothing is fetched at the start, and no page but ours is opened.
_SETTINGS: Final = {
    "marionette.port": 0,
    "app.update.disabledForTesting": True,
    "browser.aboutwelcome.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "",
    "toolkit.telemetry.enabled": False,
}
_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"  # the name that WebDriver gave to references to elements


def find() -> str | None:
    """The browser's path; None where there is none."""
    named = os.environ.get("RECOLORIST_FIREFOX")
    return named or next(filter(None, map(shutil.which, _NAMES)), None)


class Firefox:
    """One browser with one tab."""

    def __init__(self, program: str, profile: Path) -> None:
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in _SETTINGS.items()]
        (profile / "user.js").write_text("\n".join(lines))
        command = [program, "--headless", "--marionette", "--no-remote", "--profile", str(profile), "about:blank"]
        environment = os.environ | {"HOME": str(profile), "MOZ_CRASHREPORTER_DISABLE": "1"}
        self._process = subprocess.Popen(  # noqa: S603 - a browser found by its name
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
        )
        self._numbers = itertools.count(1)
        self._socket: socket.socket | None = None
        try:
            port = profile / "MarionetteActivePort"
            wait_for(lambda: port.is_file() and port.read_text().strip(), PATIENCE, "Firefox to open its port")
            self._socket = socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE)
            self._receive()  # it greets
            self.send("WebDriver:NewSession", capabilities={"alwaysMatch": {"timeouts": {"script": 1000 * int(PATIENCE)}}})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the browser that was started here, and no other."""
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def send(self, name: str, **parameters: Any) -> Any:
        """Ask, and wait for the answer."""
        assert self._socket is not None
        message = json.dumps([0, next(self._numbers), name, parameters]).encode()
        self._socket.sendall(f"{len(message)}:".encode() + message)
        _, _, error, result = self._receive()
        if error:
            raise RuntimeError(f"{name}: {error['message']}")
        return result.get("value") if isinstance(result, dict) else result

    def _receive(self) -> Any:
        assert self._socket is not None
        digits = b""
        while not digits.endswith(b":"):
            digits += self._socket.recv(1)
        data, length = b"", int(digits[:-1])
        while len(data) < length:
            data += self._socket.recv(length - len(data))
        return json.loads(data)

    # ---- what a person does ---------------------------------------------------------------------------------------------

    def reset(self) -> None:
        """Nothing of the browser is changed by these tests."""

    def open(self, address: str) -> None:
        self.send("WebDriver:Navigate", url=address)

    def run(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        script = (
            "const done = arguments[0]; Promise.resolve().then(() => (" + expression + "))"
            ".then((value) => done([value]), (error) => done([null, String(error)]))"
        )
        value, *error = self.send("WebDriver:ExecuteAsyncScript", script=script, args=[])
        if error:
            raise RuntimeError(error[0])
        return value

    def wait(self, expression: str, patience: float = PATIENCE) -> Any:
        """Wait until an expression becomes true."""
        return wait_for(lambda: self.run(expression), patience, expression)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).textContent"))

    def click(self, selector: str) -> None:
        self.send("WebDriver:ElementClick", id=self._find(selector))

    def choose(self, selector: str, *paths: Path) -> None:
        """Choose files as the file dialogue would."""
        self.send("WebDriver:ElementSendKeys", id=self._find(selector), text="\n".join(map(str, paths)))

    def _find(self, selector: str) -> str:
        return str(self.send("WebDriver:FindElement", using="css selector", value=selector)[_ELEMENT])
