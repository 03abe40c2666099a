"""A run that hangs is ended; one that goes on is not."""

from __future__ import annotations

import subprocess
import sys
import threading

from recolorist_lab.training.watchdog import HUNG, sign_of_life, watched


def test_silence_is_noticed() -> None:
    ended, sentences = threading.Event(), []

    def end(sentence: str) -> None:
        sentences.append(sentence)
        ended.set()

    with watched(0.05, end):
        assert ended.wait(600)
    assert "made no progress for 0.05 s" in sentences[0]


def test_signs_of_life_and_the_end_keep_it_quiet() -> None:
    sentences: list[str] = []
    before = threading.active_count()
    with watched(300.0, sentences.append):
        sign_of_life()
    with watched(0.0, sentences.append):
        pass
    assert sentences == []
    for thread in threading.enumerate():
        if thread.daemon and thread.name.endswith("(_watch)"):
            thread.join(600)
    assert threading.active_count() <= before


def test_a_process_ends_itself() -> None:
    code = "import time\nfrom recolorist_lab.training.watchdog import watched\nwith watched(0.05): time.sleep(600)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == HUNG
    assert "recolorist-lab: the run made no progress" in done.stderr
