"""The page's loops: built from the library's C sources as they are now."""

from __future__ import annotations

import pytest

from recolorist.studio import bundle
from tools import studio_wasm


def test_the_loops_were_built_from_these_sources() -> None:
    advice = "the C sources changed; run `python -m tools.studio_wasm` (it needs clang and lld) and commit kernels.wasm"
    assert studio_wasm.record_of(bundle.kernels())["sources"] == studio_wasm.source_digest(), advice


def test_comments_and_spaces_are_no_code() -> None:
    plain = "int a = 1;\nint b;\n"
    assert studio_wasm.code_of("/* one */\nint a  = 1; /* two\n * lines */\n\n  int b;\n") == studio_wasm.code_of(plain)
    assert studio_wasm.code_of("int a = 2;\nint b;\n") != studio_wasm.code_of(plain)


def test_the_loops_are_what_the_compiler_makes_of_them() -> None:
    recorded, here = studio_wasm.record_of(bundle.kernels())["compiler"], studio_wasm.compiler()
    if here != recorded:
        pytest.skip(
            f"the loops were built with {recorded}, and here is {here or 'no clang with lld'}; other compilers give other code"
        )
    assert studio_wasm.build() == bundle.kernels()


def test_the_loops_import_nothing() -> None:
    """A module without imports can do nothing but compute."""
    module, at = bundle.kernels(), 8
    sections = []
    while at < len(module):
        kind, size, shift = module[at], 0, 0
        at += 1
        while True:
            byte = module[at]
            at, size, shift = at + 1, size | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        sections.append(kind)
        at += size
    assert at == len(module)
    assert 2 not in sections  # the number of the section that names imports
