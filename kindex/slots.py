"""Slots: the small numbers under which stored objects live."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from pyroaring import BitMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kindex.keys import ObjectKey

T = TypeVar("T")


class SlotTable(Generic[T]):
    """Which object lives in which slot.

    Invariants: ``slot_of`` and ``keys`` are inverse to each other; a slot below ``capacity`` that is in ``free`` has
    neither key nor object, any other has both. ``assign`` and ``release`` say what shall be, so doing them again
    after an interruption does no harm.
    """

    __slots__ = ("free", "keys", "objects", "slot_of")

    def __init__(self, keys: Sequence[ObjectKey] = (), objects: Sequence[T] = ()) -> None:
        """Give slots 0, 1, 2 ... to *objects*, whose *keys* are all different."""
        self.slot_of: dict[ObjectKey, int] = dict(zip(keys, range(len(keys)), strict=True))
        self.keys: list[ObjectKey | None] = list(keys)
        self.objects: list[T | None] = list(objects)
        self.free = BitMap()  # never a list of ints: that kept 160 MB alive after 100,000 objects had come and gone

    def __len__(self) -> int:
        return len(self.slot_of)

    @property
    def capacity(self) -> int:
        """The number of slots there are, taken or free."""
        return len(self.objects)

    def get(self, key: ObjectKey) -> T | None:
        """Give the object under *key*, or None."""
        slot = self.slot_of.get(key)
        return None if slot is None else self.objects[slot]

    def live(self) -> BitMap:
        """Give all slots that are taken, as a bitmap of the caller's own. A few microseconds."""
        return self.free.flip(0, len(self.objects))

    def unused(self, count: int) -> list[int]:
        """Name *count* slots that are free now, the lowest first, beyond the capacity when it is used up."""
        if count == 1:  # a put
            return [self.free.min() if self.free else len(self.objects)]
        held = self.free[:count] if self.free else ()
        slots = list(held)
        end = len(self.objects)
        slots.extend(range(end, end + count - len(slots)))
        return slots

    def assign(self, slot: int, key: ObjectKey, obj: T) -> None:
        """Let *slot* hold *obj* under *key*."""
        while len(self.objects) <= slot:
            self.free.add(len(self.objects))
            if len(self.keys) == len(self.objects):  # else a call that was cut short got this far
                self.keys.append(None)
            self.objects.append(None)
        self.objects[slot] = obj
        if self.keys[slot] is None:  # else it is this key: as a dict does, keep the first one, and only that
            self.slot_of[key] = slot
            self.free.discard(slot)
            self.keys[slot] = key  # last: where it is, all the rest is done

    def release(self, slot: int, key: ObjectKey) -> None:
        """Let *slot* be free; it held *key*."""
        self.slot_of.pop(key, None)
        self.keys[slot] = None
        self.objects[slot] = None
        self.free.add(slot)

    def _check(self) -> None:
        """Assert the invariants."""
        assert len(self.keys) == len(self.objects)
        assert self.slot_of == {key: slot for slot, key in enumerate(self.keys) if key is not None}
        assert self.free == BitMap(slot for slot, key in enumerate(self.keys) if key is None)
        assert not self.free or self.free.max() < len(self.objects)
        for slot in self.free:
            assert self.objects[slot] is None
