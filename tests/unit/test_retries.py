"""Delays after errors, and the rate of requests."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import KindexError
from kindex.informer.retries import Pace, RetryPolicy
from kindex.informer.settings import SettingError


def test_delays_double_up_to_the_cap() -> None:
    """Without jitter: 1, 2, 4 ... 30 seconds, however often it failed."""
    policy = RetryPolicy(jitter=0.0)
    assert [policy.delay_seconds(count, 0.5) for count in (1, 2, 3, 4, 5, 6, 7)] == [1, 2, 4, 8, 16, 30, 30]
    assert policy.delay_seconds(10**9, 0.5) == 30.0


@given(
    st.integers(1, 10**6),
    st.floats(0, 1),
    st.floats(0, 100),
    st.floats(1, 100),
    st.floats(0, 1000),
    st.floats(0, 1),
)
def test_a_delay_is_within_its_bounds(
    failures: int, luck: float, first: float, factor: float, cap: float, jitter: float
) -> None:
    """Never above the cap, never below what the jitter leaves of it, whatever the policy."""
    policy = RetryPolicy(first_seconds=first, factor=factor, cap_seconds=cap, jitter=jitter)
    without = RetryPolicy(first_seconds=first, factor=factor, cap_seconds=cap, jitter=0.0)
    full = without.delay_seconds(failures, luck)
    assert full * (1 - jitter) <= policy.delay_seconds(failures, luck) * (1 + 1e-12)
    assert policy.delay_seconds(failures, luck) <= full <= cap


@given(st.integers(1, 100), st.floats(0, 1), st.floats(0.1, 300))
def test_retry_after_is_a_lower_bound(failures: int, luck: float, asked: float) -> None:
    """Nobody comes before the server said, and not all at the same moment after it."""
    policy = RetryPolicy()
    delay = policy.delay_seconds(failures, luck, asked)
    assert max(asked, policy.delay_seconds(failures, luck)) <= delay <= max(30.0, asked + 0.5)
    assert policy.delay_seconds(1, 0.0, 100.0) != policy.delay_seconds(1, 0.5, 100.0)


def test_retry_after_is_believed_within_reason() -> None:
    """A day is not waited for, by default not more than five minutes."""
    assert RetryPolicy(jitter=0.0).delay_seconds(1, 0.0, 86_400.0) == 300.0
    assert RetryPolicy(jitter=0.0, longest_retry_after_seconds=5.0).delay_seconds(1, 0.0, 86_400.0) == 5.0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"first_seconds": -1}, "first_seconds is a number from 0, not -1"),
        ({"factor": 0.5}, "factor is a number from 1, not 0.5"),
        ({"cap_seconds": inf}, "cap_seconds is a number from 0, not inf"),
        ({"jitter": 2}, "jitter is a number from 0 to 1, not 2"),
        ({"healthy_seconds": nan}, "healthy_seconds is a number from 0, not nan"),
        ({"longest_retry_after_seconds": "5"}, "longest_retry_after_seconds is a number from 0, not '5'"),
    ],
)
def test_a_policy_that_cannot_be(settings: dict[str, Any], sentence: str) -> None:
    """It is refused where it is made, and the error is the builtin that one would catch."""
    with pytest.raises(SettingError) as refused:
        RetryPolicy(**settings)
    assert str(refused.value) == sentence
    assert isinstance(refused.value, (ValueError, KindexError))


@given(st.lists(st.floats(0, 3), min_size=5, max_size=50))
def test_a_pace_never_has_five_in_a_second(waits: list[float]) -> None:
    """Whoever sends as early as it allows, or later, never sends five in a second, both of its ends included."""
    pace, at, sent = Pace(), 1000.0, []
    for wait in waits:
        at = pace.earliest(at + wait)
        pace = pace.sent(at)
        sent.append(at)
    assert min(later - earlier for earlier, later in zip(sent, sent[4:], strict=False)) > 1.0


def test_a_pace_lets_a_list_and_its_watch_follow_each_other() -> None:
    """Four requests need not wait, the fifth does."""
    pace = Pace()
    for _ in range(4):
        assert pace.earliest(7.0) == 7.0
        pace = pace.sent(7.0)
    assert pace.earliest(7.0) == 8.25
    assert pace.earliest(9.0) == 9.0
