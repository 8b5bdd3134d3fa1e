"""Small valid GGUF files, each exercising one feature of the format; mutation tests start from them."""

import struct
from pathlib import Path

import gguf
from container import ArrayOf, Container, Entry, Tensor, ValueType, pack_container

ARCHITECTURE = Entry("general.architecture", ValueType.STRING, "llama")
FLOAT32 = gguf.GGMLQuantizationType.F32

EXTREMES = {
    ValueType.UINT8: (0, 255),
    ValueType.INT8: (-128, 127),
    ValueType.UINT16: (0, 65_535),
    ValueType.INT16: (-32_768, 32_767),
    ValueType.UINT32: (0, 4_294_967_295),
    ValueType.INT32: (-2_147_483_648, 2_147_483_647),
    ValueType.UINT64: (0, 18_446_744_073_709_551_615),
    ValueType.INT64: (-9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
    ValueType.FLOAT32: (-1.5, 3.0e38),
    ValueType.FLOAT64: (-1.5, 1.7e308),
    ValueType.BOOL: (False, True),
    ValueType.STRING: ("", "text"),
}


def make_corpus(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, container in containers().items():
        (folder / f"{name}.gguf").write_bytes(pack_container(container))


def containers() -> dict[str, Container]:
    one_tensor = (floats("one", (8,)),)
    return {
        "architecture-only": Container((ARCHITECTURE,)),
        "every-scalar": Container((ARCHITECTURE, *every_scalar())),
        "unusual-floats": Container((ARCHITECTURE, *unusual_floats())),
        "strings": Container((ARCHITECTURE, *strings())),
        "unicode-keys": Container((ARCHITECTURE, *unicode_keys())),
        "every-array": Container((ARCHITECTURE, *every_array())),
        "empty-arrays": Container((ARCHITECTURE, *empty_arrays())),
        "nested-arrays": Container((ARCHITECTURE, *nested_arrays())),
        "long-vocabulary": Container((ARCHITECTURE, *long_vocabulary())),
        "many-keys": Container((ARCHITECTURE, *many_keys())),
        "one-tensor": Container((ARCHITECTURE,), one_tensor),
        "alignment-8": Container((ARCHITECTURE,), two_odd_tensors(), alignment=8),
        "alignment-64": Container((ARCHITECTURE,), two_odd_tensors(), alignment=64),
        "alignment-4096": Container((ARCHITECTURE,), two_odd_tensors(), alignment=4096),
        "tensor-types": Container((ARCHITECTURE,), tensor_types()),
        "tensor-shapes": Container((ARCHITECTURE,), tensor_shapes()),
        "many-tensors": Container((ARCHITECTURE,), many_tensors()),
        "version-2": Container((ARCHITECTURE, *every_scalar()), one_tensor, version=2),
    }


def every_scalar() -> list[Entry]:
    return [
        Entry(f"corpus.{kind.name.lower()}.{end}", kind, value)
        for kind, values in EXTREMES.items()
        for end, value in zip(("lowest", "highest"), values, strict=True)
    ]


def unusual_floats() -> list[Entry]:
    values = {
        "nan": float("nan"),
        "infinity": float("inf"),
        "minus_infinity": float("-inf"),
        "minus_zero": -0.0,
        "subnormal": 1.0e-40,
    }
    kinds = (ValueType.FLOAT32, ValueType.FLOAT64)
    return [Entry(f"corpus.{kind.name.lower()}.{name}", kind, values[name]) for kind in kinds for name in values]


def strings() -> list[Entry]:
    values = {
        "empty": "",
        "long": "0123456789abcdef" * 8192,
        "lines": "first\nsecond\r\nthird\ttab",
        "zero_byte": "before\0after",
        "accents": "Grüße aus Zürich, señor",
        "far": "東京 \U0001f600 \U00010348",
        "combined": "e\u0301 \u200d \ufeff",
        "template": "{% for message in messages %}{{ message.content }}{% endfor %}",
    }
    return [Entry(f"corpus.{name}", ValueType.STRING, value) for name, value in values.items()]


def unicode_keys() -> list[Entry]:
    keys = ("größe", "長さ", "\U0001f511", "with space", "UPPER.lower", "a" * 1000)
    return [Entry(f"corpus.{key}", ValueType.UINT32, number) for number, key in enumerate(keys)]


def every_array() -> list[Entry]:
    return [
        Entry(f"corpus.{kind.name.lower()}s", ValueType.ARRAY, ArrayOf(kind, list(values) * 3))
        for kind, values in EXTREMES.items()
    ]


def empty_arrays() -> list[Entry]:
    kinds = (ValueType.UINT8, ValueType.FLOAT32, ValueType.STRING)
    return [Entry(f"corpus.no_{kind.name.lower()}s", ValueType.ARRAY, ArrayOf(kind, [])) for kind in kinds]


def nested_arrays() -> list[Entry]:
    """Valid according to the format, although llama.cpp rejects them."""
    numbers = [ArrayOf(ValueType.INT32, [1, 2, 3]), ArrayOf(ValueType.INT32, [4])]
    words = [ArrayOf(ValueType.STRING, ["one", "two"]), ArrayOf(ValueType.STRING, ["three"])]
    deep = [ArrayOf(ValueType.ARRAY, [ArrayOf(ValueType.UINT8, [7, 8])])]
    return [
        Entry(f"corpus.{name}", ValueType.ARRAY, ArrayOf(ValueType.ARRAY, items))
        for name, items in {"numbers": numbers, "words": words, "deep": deep}.items()
    ]


def long_vocabulary() -> list[Entry]:
    tokens = [f"token-{number}" for number in range(20_000)]
    scores = [-float(number) for number in range(20_000)]
    return [
        Entry("tokenizer.ggml.model", ValueType.STRING, "llama"),
        Entry("tokenizer.ggml.tokens", ValueType.ARRAY, ArrayOf(ValueType.STRING, tokens)),
        Entry("tokenizer.ggml.scores", ValueType.ARRAY, ArrayOf(ValueType.FLOAT32, scores)),
    ]


def many_keys() -> list[Entry]:
    return [Entry(f"corpus.key.{number}", ValueType.UINT16, number) for number in range(2_000)]


def two_odd_tensors() -> tuple[Tensor, ...]:
    return floats("odd.first", (3,)), floats("odd.second", (5,))


def tensor_types() -> tuple[Tensor, ...]:
    """One row of blocks for every type that the reader knows, filled with increasing bytes."""
    tensors = []
    for kind, (block, size) in sorted(gguf.GGML_QUANT_SIZES.items()):
        content = bytes(number % 256 for number in range(size * 2))
        tensors.append(Tensor(f"type.{kind.name.lower()}", (block * 2,), kind, content))
    return tuple(tensors)


def tensor_shapes() -> tuple[Tensor, ...]:
    shapes = ((1,), (7,), (4, 3), (4, 3, 2), (4, 3, 2, 5), (1, 1, 1, 1))
    tensors = [floats("x".join(map(str, shape)), shape) for shape in shapes]
    # 63 bytes is the longest name llama.cpp accepts.
    return (*tensors, floats("n" * 63, (2,)))


def many_tensors() -> tuple[Tensor, ...]:
    return tuple(floats(f"blk.{number}.weight", (16,)) for number in range(300))


def floats(name: str, shape: tuple[int, ...]) -> Tensor:
    count = 1
    for length in shape:
        count *= length
    content = struct.pack(f"<{count}f", *(number / 4 for number in range(count)))
    return Tensor(name, shape, FLOAT32, content)
