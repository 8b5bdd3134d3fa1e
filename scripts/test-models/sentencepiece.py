"""A SentencePiece vocabulary from its own model file, as a GGUF file without weights."""

import struct
from collections.abc import Iterator
from pathlib import Path

from container import ArrayOf, Container, Entry, ValueType, pack_container

# Numbers of fields in sentencepiece_model.proto.
PIECES, TEXT, SCORE, KIND = 1, 1, 2, 3
NORMAL = 1


def convert_sentencepiece(source: Path, target: Path) -> None:
    pieces = [dict(read_fields(piece)) for number, piece in read_fields(source.read_bytes()) if number == PIECES]
    texts = [piece[TEXT].decode("utf-8") for piece in pieces]
    scores = [struct.unpack("<f", piece.get(SCORE, bytes(4)))[0] for piece in pieces]
    # The numbers of the kinds are the same in GGUF.
    kinds = [piece.get(KIND, NORMAL) for piece in pieces]
    entries = (
        Entry("general.architecture", ValueType.STRING, "llama"),
        Entry("tokenizer.ggml.model", ValueType.STRING, "llama"),
        Entry("tokenizer.ggml.tokens", ValueType.ARRAY, ArrayOf(ValueType.STRING, texts)),
        Entry("tokenizer.ggml.scores", ValueType.ARRAY, ArrayOf(ValueType.FLOAT32, scores)),
        Entry("tokenizer.ggml.token_type", ValueType.ARRAY, ArrayOf(ValueType.INT32, kinds)),
        Entry("tokenizer.ggml.bos_token_id", ValueType.UINT32, 1),
        Entry("tokenizer.ggml.eos_token_id", ValueType.UINT32, 2),
        Entry("tokenizer.ggml.unknown_token_id", ValueType.UINT32, 0),
    )
    target.write_bytes(pack_container(Container(entries)))


def read_fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The fields of a protocol buffer, with their numbers."""
    at = 0
    while at < len(message):
        key, at = read_varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = read_varint(message, at)
        else:
            length = {1: 8, 5: 4}.get(wire_type)
            if length is None:
                length, at = read_varint(message, at)
            value, at = message[at : at + length], at + length
        yield number, value


def read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
