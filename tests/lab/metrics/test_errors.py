"""The errors of metrics, as callers tell them apart."""

from __future__ import annotations

from recolorist.errors import OptionError, RecoloristError
from recolorist_lab.metrics.errors import MetricError, RangeError


def test_wrong_images_are_the_callers_and_a_failed_metric_is_not() -> None:
    assert issubclass(RangeError, OptionError)
    assert issubclass(MetricError, RecoloristError)
    assert not issubclass(MetricError, OptionError)
