"""The table of flags: every flag that the library sets has a meaning and a remedy."""

from __future__ import annotations

import pytest

from recolorist.collections.flags import FLAGS, describe_flags, flags_of_summary
from recolorist.core.maps import FLAG_NAMES


def test_every_flag_of_a_match_is_described() -> None:
    names = {*FLAG_NAMES, "detail_lost"}
    sentences = describe_flags([*names, *names])
    assert [sentence.partition(":")[0] for sentence in sentences] == sorted(names)
    assert all(" What to do: " in sentence and sentence.endswith(".") for sentence in sentences)


def test_flags_that_need_a_bank_are_left_out_without_one() -> None:
    assert set(FLAGS) - set(flags_of_summary({})) == {"clips", "detail_lost", "gain_capped"}
    assert set(flags_of_summary({"clip_median": {}})) == set(FLAGS)


@pytest.mark.parametrize("name", sorted(FLAGS))
def test_every_flag_says_what_it_means_and_what_to_do_in_one_sentence_each(name: str) -> None:
    for sentence in (FLAGS[name].meaning, FLAGS[name].remedy):
        assert sentence
        assert sentence[0].islower() or not sentence[0].isalpha()
        assert not sentence.endswith(".")


def test_an_unknown_flag_is_an_error_and_not_silence() -> None:
    with pytest.raises(KeyError):
        describe_flags(["flat", "purple"])


def test_no_flag_gives_no_sentence() -> None:
    assert describe_flags([]) == []
