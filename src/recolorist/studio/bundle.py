"""Bundle modules, stylesheets, numbers and example images into one HTML file that needs no other."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from typing import Any, Final

from recolorist._version import __version__
from recolorist.core import blank
from recolorist.core.spaces import SPACES, Space
from recolorist.errors import RecoloristError
from recolorist.studio.examples import example_bank, example_images, examples

__all__ = ["blank_rule", "bundle", "kernels", "page", "space_numbers"]

_IMPORT: Final = re.compile(r'^import \{ ([^}]+) \} from "\./(\w+)\.mjs";$', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
_LEFTOVER: Final = re.compile(r"^(?:import|export)\b", re.MULTILINE)
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


def page() -> str:
    """Make the whole page; the same library gives the same text.

    Returns:
        The page as HTML.

    Example:
        >>> html = page()
        >>> html.startswith("<!doctype html>"), "http:" in html.replace("http://www.w3.org/2000/svg", "")
        (True, False)
    """
    style = _read("report", "common.css") + _read("studio", "studio.css")
    script = bundle("main")
    parts = {
        "policy": _policy(script, style),
        "style": style,
        "library": _escape_for_script(json.dumps(_library_data(), separators=(",", ":"))),
        "worker": bundle("worker"),
        "script": script,
    }
    return _PLACE.sub(lambda place: parts[place[1]], _read("studio", "page.html"))


def bundle(entry: str) -> str:
    """Join a module and all it imports into one script; each module keeps a scope of its own.

    Args:
        entry: Name of the module without its suffix.

    Returns:
        The script.

    Raises:
        RecoloristError: A module holds text that the bundler cannot place in a page.

    Example:
        >>> bundle("exact").count("function pythonFloat(")
        1
    """
    order: dict[str, str] = {}
    _add_module(entry, order)
    script = "".join(order.values())
    if "</script" in script or "<!--" in script:
        raise RecoloristError("a module holds text that would end its script element; write it in two pieces")
    return '"use strict";\n' + script


def space_numbers() -> dict[str, dict[str, Any]]:
    """Return the numbers of every colour space, so that the page needs no copy of them.

    Example:
        >>> [name for name, space in space_numbers().items() if space["linear"] is None]
        ['lab', 'hed', 'hsi', 'hsv', 'lch', 'luv', 'lalphabeta']
    """
    return {name: {"name": name, "channels": space.channels, "linear": _linear_numbers(space)} for name, space in SPACES.items()}


def _linear_numbers(space: Space) -> dict[str, Any] | None:
    if space.basis is None or space.matrix is None or space.whole is None:
        return None
    return {
        "basis": space.basis.rows.tolist(),
        "basisInverse": space.basis.inverse.tolist(),
        "rows": space.matrix.rows.tolist(),
        "inverse": space.matrix.inverse.tolist(),
        "whole": space.whole.rows.tolist(),
        "denominator": space.whole.denominator,
    }


def kernels() -> bytes:
    """Return the library's loops as WebAssembly; tools/studio_wasm.py builds them from the library's C sources."""
    return (resources.files("recolorist.studio") / "kernels.wasm").read_bytes()


def blank_rule() -> dict[str, float]:
    """Return the limits of the rule for blank images, so that the page needs no copy of them.

    Example:
        >>> blank_rule()
        {'band': 0.03, 'share': 0.97, 'styleDeviation': 0.02}
    """
    return {"band": blank.BAND, "share": blank.SHARE, "styleDeviation": blank.STYLE_DEVIATION}


def _library_data() -> dict[str, Any]:
    return {
        "version": __version__,
        "spaces": space_numbers(),
        "kernels": base64.b64encode(kernels()).decode(),
        "images": example_images(),
        "examples": examples(),
        "bank": example_bank(),
        "blank": blank_rule(),
    }


def _add_module(name: str, done: dict[str, str]) -> None:
    """Add a module after those it imports."""
    source = _read("studio", f"js/{name}.mjs")
    for _, other in _IMPORT.findall(source):
        if other not in done:
            _add_module(other, done)
    done[name] = _wrap_module(name, source)


def _wrap_module(name: str, source: str) -> str:
    """Write a module as a function that is called once and returns what it exports."""
    exports = ", ".join(_EXPORT.findall(source))
    body = _EXPORT.sub("", _IMPORT.sub(r"const { \1 } = module_\2;", source))
    if _LEFTOVER.search(body):
        raise RecoloristError(f"{name}.mjs has an import or export the bundler does not know; keep to named ones on one line")
    return f"const module_{name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"


def _policy(script: str, style: str) -> str:
    """Forbid every load from elsewhere; the page's own script and style are named by their hashes."""
    rules = {
        "default-src": "'none'",
        # the worker is started from a blob, which older browsers file under scripts; WebAssembly can do no more than compute
        "script-src": f"'{_hash(script)}' blob: 'wasm-unsafe-eval'",
        "worker-src": "blob:",
        "style-src": f"'{_hash(style)}'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _escape_for_script(text: str) -> str:
    return text.replace("<", "\\u003c")


def _read(package: str, name: str) -> str:
    return (resources.files(f"recolorist.{package}") / name).read_text(encoding="utf-8")
