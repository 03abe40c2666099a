"""One thread each: two processes test at once."""

from __future__ import annotations

import cv2

from tests.lab.threads import one_thread

__all__ = ["one_thread"]

cv2.setNumThreads(1)
