"""Writes GGUF files byte by byte, including valid but unusual ones that no converter produces."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class ValueType(IntEnum):
    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


FORMATS = {
    ValueType.UINT8: "<B",
    ValueType.INT8: "<b",
    ValueType.UINT16: "<H",
    ValueType.INT16: "<h",
    ValueType.UINT32: "<I",
    ValueType.INT32: "<i",
    ValueType.FLOAT32: "<f",
    ValueType.BOOL: "<?",
    ValueType.UINT64: "<Q",
    ValueType.INT64: "<q",
    ValueType.FLOAT64: "<d",
}


@dataclass(frozen=True)
class ArrayOf:
    kind: ValueType
    items: list[Any]


@dataclass(frozen=True)
class Entry:
    key: str
    kind: ValueType
    value: Any


@dataclass(frozen=True)
class Tensor:
    name: str
    # In the file's order: the first number is the length of a row.
    shape: tuple[int, ...]
    number: int
    content: bytes


@dataclass(frozen=True)
class Container:
    entries: tuple[Entry, ...] = ()
    tensors: tuple[Tensor, ...] = ()
    alignment: int = 32
    version: int = 3


def pack_container(container: Container) -> bytes:
    entries = container.entries
    if container.alignment != 32:
        entries = (Entry("general.alignment", ValueType.UINT32, container.alignment), *entries)
    header = b"GGUF" + struct.pack("<IQQ", container.version, len(container.tensors), len(entries))
    for entry in entries:
        header += pack_text(entry.key) + struct.pack("<I", entry.kind) + pack_value(entry.kind, entry.value)
    body = b""
    for tensor in container.tensors:
        header += pack_text(tensor.name) + struct.pack("<I", len(tensor.shape))
        header += struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape)
        header += struct.pack("<IQ", tensor.number, len(body))
        body += pad(tensor.content, container.alignment)
    return pad(header, container.alignment) + body


def pack_value(kind: ValueType, value: Any) -> bytes:
    if kind == ValueType.STRING:
        return pack_text(value)
    if kind == ValueType.ARRAY:
        items = b"".join(pack_value(value.kind, item) for item in value.items)
        return struct.pack("<IQ", value.kind, len(value.items)) + items
    return struct.pack(FORMATS[kind], value)


def pack_text(text: str) -> bytes:
    encoded = text.encode("utf-8")
    return struct.pack("<Q", len(encoded)) + encoded


def pad(content: bytes, alignment: int) -> bytes:
    return content + bytes(-len(content) % alignment)
