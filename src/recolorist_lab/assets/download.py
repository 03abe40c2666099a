"""One file over https into one ``.part``: no other scheme at any redirect, a limit on its bytes, resumable."""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from recolorist.errors import RecoloristError
from recolorist.io.reading import describe_error
from recolorist_lab.data.cards import File
from recolorist_lab.progress import Tick

__all__ = ["CutOffError", "FetchError", "Link", "address", "note_of", "refuse_address", "transfer"]

_CHUNK: Final = 1 << 18
_RANGE: Final = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")
_AGENT: Final = "recolorist-lab"
_BUSY: Final = (408, 429, 500, 502, 503, 504)


class FetchError(RecoloristError):
    """A download that was refused or is not what the card says."""


class CutOffError(FetchError):
    """A download that ended early, or a server that is busy: worth another try."""


@dataclass(frozen=True, slots=True)
class Link:
    """How to reach the servers.

    ``ca`` is a file with further certificates to trust (an institution's proxy, say). ``mirror`` is an https address that holds
    copies under ``<mirror>/<host>/<path>``.
    """

    ca: str | Path | None = None
    mirror: str | None = None
    timeout: float = 60.0
    tries: int = 5
    pause: float = 1.0


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    max_redirections = 5

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        refuse_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def refuse_address(url: str) -> None:
    """Refuse addresses that are not https, or that hold a name or password.

    Args:
        url: The address.

    Raises:
        FetchError: It is refused.

    Example:
        >>> refuse_address("http://example.org/a.zip")
        Traceback (most recent call last):
        recolorist_lab.assets.download.FetchError: http://example.org/a.zip is refused: downloads are https ...
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise FetchError(f"{url[:200]} is refused: downloads are https only, redirects included")


def address(url: str, mirror: str | None) -> str:
    """Return the address to ask for a file.

    Args:
        url: Where its publisher has it.
        mirror: The address of a mirror, which has copies by host and path; None for the publisher.

    Returns:
        The address of the file itself, or of its copy.

    Example:
        >>> address("https://zenodo.org/a/b.zip?download=1", "https://mirror.example/copies/")
        'https://mirror.example/copies/zenodo.org/a/b.zip?download=1'
    """
    if mirror is None:
        return url
    return f"{mirror.rstrip('/')}/{url.removeprefix('https://')}"


def transfer(file: File, part: Path, link: Link, tick: Tick) -> None:
    """Fill ``part``, going on from what is there. It is complete when this returns, and not yet verified.

    Args:
        file: What to download.
        part: The file to fill.
        link: How to reach the server.
        tick: Is called with every piece.

    Raises:
        CutOffError: The download ended early; another try may help.
        FetchError: It is refused.
    """
    url = address(file.url, link.mirror)
    refuse_address(url)
    have, tag = _so_far(file, part)
    if file.bytes is not None and have >= file.bytes:
        return  # all there: it stopped between the last byte and the check
    headers = {"User-Agent": _AGENT, "Accept-Encoding": "identity"}
    if have:
        headers |= {"Range": f"bytes={have}-"} | ({"If-Range": tag} if tag else {})
    try:
        with _opener(link).open(urllib.request.Request(url, headers=headers), timeout=link.timeout) as answer:  # noqa: S310 - https, see above
            _receive(answer, file, part, have, tick)
    except urllib.error.HTTPError as error:
        error.close()  # the error is also the response, and keeps the connection open
        if error.code == 416:
            part.unlink(missing_ok=True)  # the bytes on disk belong to another version of the file
        kind = CutOffError if error.code in (*_BUSY, 416) else FetchError
        raise kind(f"{url} answered {error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
            raise FetchError(f"{error.filename} cannot be written: {error.strerror}") from error
        if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
            raise FetchError(
                f"{url} shows a certificate that is not trusted here ({error}); give its authority with --ca"
            ) from error
        raise CutOffError(f"{url} was cut off: {describe_error(error)}") from error


def _opener(link: Link) -> urllib.request.OpenerDirector:
    """Https and nothing else: no http, ftp or file handler is there to be redirected to."""
    context = ssl.create_default_context()
    authority = link.ca or os.environ.get("RECOLORIST_CA")
    if authority:
        try:
            context.load_verify_locations(cafile=str(authority))
        except OSError as error:
            raise FetchError(f"{authority} cannot be read as certificates: {error}") from error
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPSHandler(context=context),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _HttpsOnly(),
    ):
        opener.add_handler(handler)
    return opener


def note_of(part: Path) -> Path:
    """Return the file that notes what a part is a part of.

    Args:
        part: The part.

    Returns:
        Its path.
    """
    return part.with_name(f"{part.name}.json")


def _so_far(file: File, part: Path) -> tuple[int, str | None]:
    """Bytes of an earlier try, and the tag of the version they belong to; nothing if that is not known."""
    try:
        note = json.loads(note_of(part).read_text("utf-8"))
        have = part.stat().st_size
    except (OSError, ValueError, RecursionError):
        return 0, None
    if not isinstance(note, dict) or note.get("url") != file.url or not (note.get("etag") or file.checksum):
        return 0, None
    return have, note.get("etag")


def _receive(answer: Any, file: File, part: Path, have: int, tick: Tick) -> None:
    have, total = _begin(answer, file, have)
    limit = file.bytes if file.bytes is not None else file.at_most
    if total is not None and (total > limit or (file.bytes is not None and total != file.bytes)):
        due = f"{file.bytes:,} bytes" if file.bytes is not None else f"at most {limit:,} bytes"
        raise FetchError(f"{file.name} would have {total:,} bytes and should have {due}; it is not downloaded")
    if total is None and file.bytes is None and file.checksum is None:
        raise FetchError(
            f"{file.name}: the server does not declare its length, and neither size nor checksum is known, so a cut download "
            "would not be noticed; download it by hand"
        )
    etag = answer.headers.get("ETag")
    strong = etag if etag and not etag.startswith("W/") else None
    note_of(part).write_text(json.dumps({"url": file.url, "etag": strong}), "utf-8")
    with part.open("ab") as stream:
        _lock(stream)
        stream.truncate(have)
        have = _pour(answer, stream, file, have, (limit, total), tick)
        stream.flush()
        os.fsync(stream.fileno())
    if total is not None and have < total:
        raise CutOffError(f"{file.name} was cut off after {have:,} of {total:,} bytes")


def _pour(answer: Any, stream: IO[bytes], file: File, have: int, bounds: tuple[int, int | None], tick: Tick) -> int:
    limit, total = bounds
    while block := answer.read(_CHUNK):
        have += len(block)
        if have > limit:
            stream.truncate(0)
            raise FetchError(f"{file.name} does not end after the {limit:,} bytes that it may have; it is not accepted")
        stream.write(block)
        tick(file.name, have, total)
    return have


def _begin(answer: Any, file: File, have: int) -> tuple[int, int | None]:
    """Return where the body starts in the file, and how long the whole file is."""
    kind = answer.headers.get_content_type()
    if kind in ("text/html", "application/xhtml+xml"):
        raise FetchError(
            f"{file.name}: the server sent a web page instead of the file, which may ask for a log-in or a "
            "confirmation; download it by hand"
        )
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise FetchError(f"{file.name}: the server packed the file once more, although it was asked not to")
    length = answer.headers.get("Content-Length")
    if answer.status == 206:
        match = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if match is None or int(match[1]) != have:
            raise FetchError(f"{file.name}: the server sent another part of the file than was asked for")
        return have, None if match[3] == "*" else int(match[3])
    return 0, int(length) if length is not None and length.isdigit() else None


def _lock(stream: IO[bytes]) -> None:
    """Two downloads of one file must not write into the same part."""
    try:
        import fcntl
    except ImportError:  # Windows opens files for one writer anyway
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise FetchError(f"{stream.name} is being downloaded by another process; wait for it to end") from error
