"""A small https server with a certificate of its own, which can be made to misbehave."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

Answer = Callable[["Handler"], None]


def certificate(folder: Path) -> tuple[Path, Path]:
    """A key and a certificate for 127.0.0.1 that nobody else knows."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("the command openssl is needed to make a certificate")
    key, cert = folder / "key.pem", folder / "cert.pem"
    request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *request, "-keyout", str(key), "-out", str(cert), *names], check=True, capture_output=True)  # noqa: S603
    return key, cert


@dataclass
class Server:
    """What it serves, by `host/path`; answers of our own for single paths; and what it was asked."""

    port: int = 0
    ca: Path = Path()
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range
    etag: str | None = '"one"'
    cut_after: list[int] = field(default_factory=list)  # the next answers end after so many bytes

    @property
    def mirror(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def serve(self, served: dict[str, bytes]) -> None:
        """Serve files under the addresses that their cards give."""
        for url, data in served.items():
            parts = urlsplit(url)
            self.files[f"/{parts.netloc}{parts.path}"] = data


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    board: Server

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.board.asked.append((path, self.headers.get("Range")))
        if path in self.board.answers:
            self.board.answers[path](self)
        elif path in self.board.files:
            self.send_file(self.board.files[path])
        else:
            self.send_error(404)
        self.close_connection = True

    def send_file(self, data: bytes) -> None:
        start = self._start()
        headers = {"Content-Length": str(len(data) - start)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        if self.board.etag:
            headers["ETag"] = self.board.etag
        cut = self.board.cut_after.pop(0) if self.board.cut_after else None
        self.plain(206 if start else 200, headers, data[start:] if cut is None else data[start : start + cut])

    def plain(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/octet-stream", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _start(self) -> int:
        asked, condition = self.headers.get("Range"), self.headers.get("If-Range")
        if asked is None or (condition is not None and condition != self.board.etag):
            return 0
        return int(asked.removeprefix("bytes=").rstrip("-"))

    def log_message(self, *_: Any) -> None:
        pass


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass  # a client that turns away from a bad answer is what the tests are for


@contextmanager
def running(ca: tuple[Path, Path]) -> Iterator[Server]:
    """The server, on a free port, for as long as the block lasts."""
    key, cert = ca
    board = Server(ca=cert)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = _Quiet(("127.0.0.1", 0), type("Bound", (Handler,), {"board": board}))
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    board.port = server.server_port
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield board
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
