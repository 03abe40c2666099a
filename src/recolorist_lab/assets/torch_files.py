"""Files that ``torch.save`` wrote are pickles: they are read in a process of their own and come back as safetensors.

That process reads tensors and nothing else (``weights_only``). Its memory and its time are limited, and it may not open a
connection, start a program or write a file other than the answer. The answer is kept in the cache under the SHA-256 of the file,
so that a file is unpickled once.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recolorist.errors import RecoloristError
from recolorist.io.files import atomic_write
from recolorist_lab.assets.seals import SealError, seal_weights, verify_weights
from recolorist_lab.assets.weight_table import WeightsError
from recolorist_lab.disk import cache_folder

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["convert", "digest_of", "forbid", "limit_resources", "plain_tensors", "read_torch_file", "unpickle"]

SECONDS: Final = 600.0  #: by the clock, for one file
_MEMORY: Final = 1 << 30  # bytes beside those that grow with the file
_COPIES: Final = 6  # of the file in memory: as it is, in single precision, and as an answer
_CHUNK: Final = 1 << 20
_FORMAT: Final = 1  # of answers in the cache
_ORDER: Final = "order"  # entry of the answer's metadata: the names as they come in the file
_WRITES: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_FORBIDDEN: Final = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.remove", "os.rename")
_PROGRAM: Final = (
    "import json, sys; arguments, sys.path[:] = json.loads(sys.argv[1]); "
    "from recolorist_lab.assets.torch_files import convert; sys.exit(convert(*arguments))"
)


# ---- in the caller's process --------------------------------------------------------------------------------------------------


def read_torch_file(path: Path, part: str | None = None) -> dict[str, Tensor]:
    """Read the tensors of a file that ``torch.save`` wrote.

    Args:
        path: The file.
        part: The entry that is wanted of a checkpoint with several dictionaries.

    Returns:
        The tensors on the CPU in the order of the file, floating-point ones as float32.

    Raises:
        WeightsError: The file holds other things than tensors, is damaged, or needs more memory or time than files of weights do.
    """
    digest = digest_of(path)
    key = hashlib.sha256(json.dumps([_FORMAT, digest, part]).encode()).hexdigest()
    kept = cache_folder() / "weights" / "read" / f"{key}.safetensors"
    with suppress(OSError, SealError):  # a damaged answer is made again
        data = kept.read_bytes()
        if verify_weights(data, str(kept)):
            return _tensors(data)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.safetensors"
        _convert_apart(path, part, answer)
        data = seal_weights(answer.read_bytes())
    if digest_of(path) != digest:
        raise WeightsError(f"{path} changed while it was read; read it again when it is whole")
    with suppress(OSError, RecoloristError):  # without a cache the file is unpickled every time
        kept.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(kept, data)
    return _tensors(data)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file.

    Args:
        path: The file.

    Returns:
        The checksum in hexadecimal.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def _convert_apart(path: Path, part: str | None, answer: Path) -> None:
    """Run :func:`convert` in a new process, and say in a sentence what went wrong there."""
    arguments = json.dumps([[str(path), part, str(answer)], sys.path])
    try:
        ended = subprocess.run(  # noqa: S603 - this interpreter, with arguments of ours
            [sys.executable, "-P", "-c", _PROGRAM, arguments],
            env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WeightsError(f"{path} was not read within {SECONDS:g} s, which no file of weights takes") from None
    if ended.returncode == 1 and ended.stdout:
        raise WeightsError(ended.stdout.decode(errors="replace"))
    if ended.returncode:
        code = ended.returncode
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
        raise WeightsError(f"{path} cannot be read as weights: the process that read it ended with {how} {last}".rstrip())


def _tensors(data: bytes) -> dict[str, Tensor]:
    from safetensors.torch import load

    length = int.from_bytes(data[:8], "little")
    order = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_ORDER])
    found = load(data)
    return {name: found[name] for name in order}


# ---- in a process of its own --------------------------------------------------------------------------------------------------


def convert(path: str, part: str | None, answer: str) -> int:
    """Unpickle a file and write its tensors as safetensors.

    Args:
        path: The file.
        part: As in :func:`read_torch_file`.
        answer: The file to write.

    Returns:
        0, or 1 after a sentence was printed that says what is wrong.
    """
    import torch  # noqa: F401 - before memory is limited
    from safetensors.torch import save_file

    limit_resources(Path(path).stat().st_size)
    sys.addaudithook(forbid)
    try:
        tensors = unpickle(Path(path), part)
        save_file({name: value.clone() for name, value in tensors.items()}, answer, {_ORDER: json.dumps(list(tensors))})
    except Exception as error:  # noqa: BLE001 - whatever it is, the caller's process says it
        sys.stdout.write(str(error) if isinstance(error, WeightsError) else _sentence(error, Path(path)))
        return 1
    return 0


def unpickle(path: Path, part: str | None = None) -> dict[str, Tensor]:
    """Read the tensors of a file written by torch, in this process.

    Called in a process of its own by :func:`read_torch_file`, which is what others use.

    Args:
        path: The file.
        part: The entry to take from a checkpoint that holds several dictionaries; None where the file is one dictionary.

    Returns:
        The tensors by name, on the CPU.

    Raises:
        WeightsError: The file is damaged, or holds anything but tensors.
    """
    import torch

    try:
        content = torch.load(path, map_location="cpu", weights_only=True)  # noqa: TID251 - here and nowhere else; tensors only
        return plain_tensors(content, part, path)
    except WeightsError:
        raise
    except Exception as error:  # noqa: BLE001 - torch raises whatever its parsers raise
        raise WeightsError(_sentence(error, path)) from None


def plain_tensors(content: Any, part: str | None, path: Path) -> dict[str, Tensor]:
    """Return the tensors of what was read, floating-point ones as float32.

    Args:
        content: What torch read.
        part: The entry to take; None for all of it.
        path: The file, for the message.

    Returns:
        The tensors by name.

    Raises:
        WeightsError: It is not one dictionary of tensors, or has no such part.
    """
    import torch

    if part is not None:
        if not isinstance(content, Mapping) or part not in content:
            raise WeightsError(f"{path} has no part {part!r}; it has {_keys(content)}")
        content = content[part]
    if not isinstance(content, Mapping) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise WeightsError(f"{path} is not one dictionary of tensors; it has {_keys(content)}: name the part that is wanted")
    return {
        str(key): (value.float() if value.is_floating_point() else value).detach().contiguous() for key, value in content.items()
    }


def limit_resources(size: int) -> None:
    """Limit the memory and processor time of this process. Does nothing where the system has no limits.

    Args:
        size: Bytes of the file that will be read.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS)))
    with suppress(OSError):  # only Linux says how much there is already
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + _MEMORY + _COPIES * size
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def forbid(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse connections, programs and written files. This is an audit hook, which Python code cannot remove.

    Args:
        event: The name of the audit event.
        arguments: The arguments of the event.

    Raises:
        PermissionError: The event is forbidden.
    """
    writes = event == "open" and isinstance(arguments[2], int) and bool(arguments[2] & _WRITES)
    if writes or event.startswith(_FORBIDDEN):
        raise PermissionError(f"a file of weights may not cause {event}")


def _sentence(error: Exception, path: Path) -> str:
    if type(error).__name__ == "UnpicklingError":  # torch's own message ends with the advice to load it unsafely
        return (
            f"{path} holds Python objects beside tensors, or is no file of weights; unpickling could run any code, so "
            "nothing but tensors is read. Ask its authors for a file of tensors alone (.safetensors, or a saved state dict)"
        )
    first = str(error).strip().split("\n", 1)[0]
    return f"{path} cannot be read as weights: {type(error).__name__}: {first[:200]}"


def _keys(content: Any) -> str:
    return ", ".join(map(str, list(content)[:20])) if isinstance(content, Mapping) else f"a {type(content).__name__}"
