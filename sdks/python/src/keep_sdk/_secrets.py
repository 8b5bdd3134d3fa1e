from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import NoReturn

from ._errors import KeepError, NotFoundError
from ._responses import SecretType

_HIDDEN = "[hidden]"


class Secret:
    """A value that is not printed, formatted or serialized."""

    __slots__ = ("__content", "path", "type", "version")

    def __init__(self, path: str, version: int, type: SecretType, content: bytes) -> None:
        self.path = path
        self.version = version
        self.type = type
        self.__content: bytearray | None = bytearray(content)

    def reveal(self) -> str:
        """As text; fails for bytes that are not UTF-8."""
        try:
            return self.reveal_bytes().decode()
        except UnicodeDecodeError:
            pass
        # Outside of the handler: the first error contains the bytes.
        raise KeepError("not_text", f"The value of {self.path} is not text: use reveal_bytes()")

    def reveal_bytes(self) -> bytes:
        if self.__content is None:
            raise KeepError("cleared", f"The value of {self.path} was cleared")
        return bytes(self.__content)

    def clear(self) -> None:
        """Overwrites this copy. Text that was revealed stays where the program put it."""
        if self.__content is not None:
            self.__content[:] = bytes(len(self.__content))
        self.__content = None

    def __repr__(self) -> str:
        return f"Secret({self.path!r}, {_HIDDEN})"

    def __str__(self) -> str:
        return _HIDDEN

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret cannot be pickled or copied")


class Secrets(Mapping[str, Secret]):
    """Secrets by name; in a subfolder of the one that was read, by the path from there."""

    def __init__(self, folder: str, by_name: dict[str, Secret]) -> None:
        self.__folder = folder
        self.__by_name = by_name

    def __getitem__(self, name: str) -> Secret:
        secret = self.__by_name.get(name)
        if secret is None:
            raise MissingNameError(404, "not_found", f"There is no secret {name!r} in {self.__folder}")
        return secret

    def __iter__(self) -> Iterator[str]:
        return iter(self.__by_name)

    def __len__(self) -> int:
        return len(self.__by_name)

    def reveal(self, name: str) -> str:
        return self[name].reveal()

    def clear(self) -> None:
        for secret in self.__by_name.values():
            secret.clear()

    def __repr__(self) -> str:
        return f"Secrets({list(self.__by_name)!r}, {_HIDDEN})"


class MissingNameError(NotFoundError, KeyError):
    """A mapping is expected to raise KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])


def decode_value(value: str, encoding: str) -> bytes:
    return base64.b64decode(value) if encoding == "base64" else value.encode()
