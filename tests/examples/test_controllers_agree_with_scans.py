"""The example controllers and their scan twins: the same answer, whatever happened in whatever order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.running import Controller
from tests.controller_objects import OBJECTS
from tests.controllers import SCANS, running, skipping

MADE = sorted(SCANS, key=lambda make: make.__name__)


@pytest.mark.parametrize("make", MADE)
@settings(max_examples=40)
@given(choices=st.data())
def test_a_controller_agrees_with_a_scan(make: type[Controller], choices: st.DataObject) -> None:
    """Objects, odd ones among them, come, change and go; the controller is told of some kinds before others."""
    kinds = [kind.kind for kind in make.kinds]
    step = st.one_of(
        *[st.tuples(st.just("put"), OBJECTS[kind]) for kind in kinds],
        *[st.tuples(st.just("delete"), OBJECTS[kind]) for kind in kinds],
        st.tuples(st.just("tell"), st.sampled_from(kinds)),
    )
    with skipping():  # and each controller warns of what it cannot use, in the log
        run = running(make)
        for what, value in choices.draw(st.lists(step, max_size=30)):
            match what:
                case "put":
                    run.put(value)
                case "delete":
                    run.delete(value)
                case _:
                    run.loop.tell(value)
        run.settled()
