from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ._errors import ConnectionFailedError, KeepError, UnavailableError

Value = TypeVar("Value")

_MAX_ENTRIES = 100


@dataclass(frozen=True)
class Loaded(Generic[Value]):
    value: Value = field(repr=False)
    tag: str | None


@dataclass(frozen=True)
class _Entry(Generic[Value]):
    loaded: Loaded[Value]
    read_at: float


class ValueCache(Generic[Value]):
    """Entries are used for a maximum age, then only after the server says that they have not changed."""

    def __init__(self, max_age_seconds: float, stale_seconds: float) -> None:
        self.__max_age = max_age_seconds
        self.__stale = stale_seconds
        self.__entries: OrderedDict[object, _Entry[Value]] = OrderedDict()
        self.__lock = threading.Lock()

    def read(self, key: object, load: Callable[[str | None], Loaded[Value] | None]) -> Value:
        """`load` returns None when nothing has changed since the tag."""
        with self.__lock:
            known = self.__entries.get(key)
        now = time.monotonic()
        age = float("inf") if known is None else now - known.read_at
        if known is not None and age < self.__max_age:
            return known.loaded.value
        try:
            loaded = load(None if known is None else known.loaded.tag)
        except KeepError as error:
            if known is not None and age < self.__stale and _is_outage(error):
                return known.loaded.value
            # Also values that the token may no longer read.
            if not _is_outage(error):
                with self.__lock:
                    self.__entries.pop(key, None)
            raise
        current = loaded or (known.loaded if known is not None else None)
        if current is None:
            raise ConnectionFailedError(
                "unexpected_response", "The server knows a response that was not sent"
            )
        self.__store(key, _Entry(current, now))
        return current.value

    def clear(self) -> None:
        with self.__lock:
            self.__entries.clear()

    def __store(self, key: object, entry: _Entry[Value]) -> None:
        with self.__lock:
            self.__entries[key] = entry
            self.__entries.move_to_end(key)
            if len(self.__entries) > _MAX_ENTRIES:
                self.__entries.popitem(last=False)


def _is_outage(error: KeepError) -> bool:
    return isinstance(error, UnavailableError) or (
        isinstance(error, ConnectionFailedError) and error.code != "unexpected_response"
    )
