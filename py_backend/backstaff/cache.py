"""The one kind of cache: in memory, bounded, for several threads."""

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LRUCache(Generic[Key, Value]):
    """The values used last, at most `most` together; each counts one more than its `size`."""

    def __init__(self, most: int, size: Callable[[Value], int] = lambda _: 0) -> None:
        self.most, self._size = most, size
        self._values = OrderedDict[Key, Value]()
        self._total, self._lock = 0, Lock()

    def get(self, key: Key) -> Value | None:
        """The value of `key`, if it is still there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep `value` for `key`, unless it would push out all others, and then itself."""
        with self._lock:
            if key in self._values:
                self._total -= 1 + self._size(self._values.pop(key))
            if self._size(value) < self.most:
                self._values[key] = value
                self._total += 1 + self._size(value)
            while self._total > self.most:
                self._total -= 1 + self._size(self._values.popitem(last=False)[1])

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._values.clear()
            self._total = 0
