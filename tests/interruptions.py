"""Exceptions wherever CPython may raise one on its own: KeyboardInterrupt comes between almost any two instructions.

CPython looks for signals at the start of a function, after a call and at the end of a loop's round. ``interrupted_at``
raises at the n-th of these points, so a test can try them all, one after the other.
"""

from __future__ import annotations

import dis
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

_ROOMS = ("/kindex/", "/sortedcontainers/")


class Interrupt(KeyboardInterrupt):
    """What the tests raise: a class of its own, so that nothing else passes for it."""


def interrupted_at(number: int, act: Callable[[], object], *, inside: str) -> bool:
    """Run *act*, and raise Interrupt at the *number*-th point inside functions of this qualified name, from 0.

    Points in what these functions call count too. Gives whether there was such a point; if not, *act* was completed.
    """
    if sys.version_info >= (3, 13):
        pytest.skip("CPython 3.13 does not tell of opcodes in a function whose first call is traced")
    left = number
    depth = 0

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left, depth
        if event == "return" and frame.f_code.co_qualname == inside:
            depth -= 1
        if event == "opcode" and depth and frame.f_lasti in _points(frame.f_code):
            if not left:
                sys.settrace(None)
                raise Interrupt
            left -= 1
        return local

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal depth
        code = frame.f_code
        if not any(room in code.co_filename for room in _ROOMS):
            return None
        if code.co_qualname == inside:
            depth += 1
        if not depth:
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    # CPython 3.12 tells of opcodes only if some frame has asked for them before the trace begins.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(enter)
    try:
        act()
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@cache
def _points(code: CodeType) -> frozenset[int]:
    """Find the instructions before which CPython looks for signals."""
    points: set[int] = set()
    after_call = False
    for instruction in dis.get_instructions(code):
        if after_call:
            points.add(instruction.offset)
        name = instruction.opname  # an intrinsic, of 3.12, calls nobody
        after_call = name.startswith(("CALL", "RESUME")) and not name.startswith("CALL_INTRINSIC")
        if instruction.opname.startswith("JUMP_BACKWARD"):
            points.add(instruction.argval)
    return frozenset(points)
