"""Prints reference values for the MiniLM GGUF: cosine similarities of sentence pairs, computed in float32.

Independent of GGUF and llama.cpp: tokenizer, encoder and pooling follow the published model and read its
safetensors and vocabulary. Usage: reference-similarities.py <source folder> <pairs.json>
"""

import json
import math
import sys
import unicodedata
from pathlib import Path

import numpy
from safetensors.numpy import load_file

LONGEST_WORD = 100
Weights = dict[str, numpy.ndarray]


def main() -> None:
    encoder = Encoder(Path(sys.argv[1]))
    pairs = json.loads(Path(sys.argv[2]).read_text("utf-8"))["pairs"]
    measured = [compare(encoder, pair["first"], pair["second"]) for pair in pairs]
    json.dump({"pairs": measured}, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")


def compare(encoder: "Encoder", first: str, second: str) -> dict:
    tokens = [encoder.tokenize(first), encoder.tokenize(second)]
    cosine = float(encoder.embed(tokens[0]) @ encoder.embed(tokens[1]))
    return {
        "first": first,
        "second": second,
        "firstTokens": tokens[0],
        "secondTokens": tokens[1],
        "cosine": round(cosine, 6),
    }


class Encoder:
    def __init__(self, source: Path) -> None:
        self.settings = json.loads((source / "config.json").read_text("utf-8"))
        self.weights: Weights = load_file(source / "model.safetensors")
        words = (source / "vocab.txt").read_text("utf-8").splitlines()
        self.vocabulary = {word: identifier for identifier, word in enumerate(words)}

    def tokenize(self, text: str) -> list[int]:
        pieces = [piece for word in split_words(text) for piece in self.split_pieces(word)]
        return [self.vocabulary[token] for token in ("[CLS]", *pieces, "[SEP]")]

    def split_pieces(self, word: str) -> list[str]:
        """Greedy longest match from the left; a word that cannot be fully matched becomes one unknown token."""
        pieces: list[str] = []
        start = 0
        while start < len(word) and len(word) <= LONGEST_WORD:
            prefix = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self.vocabulary), None)
            if end is None:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces or ["[UNK]"]

    def embed(self, tokens: list[int]) -> numpy.ndarray:
        hidden = self.weights["embeddings.word_embeddings.weight"][tokens]
        hidden = hidden + self.weights["embeddings.position_embeddings.weight"][: len(tokens)]
        hidden = hidden + self.weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self.normalize_layer(hidden, "embeddings.LayerNorm")
        for layer in range(self.settings["num_hidden_layers"]):
            hidden = self.run_layer(hidden, f"encoder.layer.{layer}")
        mean = hidden.mean(axis=0)
        return mean / numpy.linalg.norm(mean)

    def run_layer(self, hidden: numpy.ndarray, layer: str) -> numpy.ndarray:
        attended = self.project(self.attend(hidden, layer), f"{layer}.attention.output.dense")
        hidden = self.normalize_layer(hidden + attended, f"{layer}.attention.output.LayerNorm")
        widened = exact_gelu(self.project(hidden, f"{layer}.intermediate.dense"))
        narrowed = self.project(widened, f"{layer}.output.dense")
        return self.normalize_layer(hidden + narrowed, f"{layer}.output.LayerNorm")

    def attend(self, hidden: numpy.ndarray, layer: str) -> numpy.ndarray:
        length, width = hidden.shape
        heads = self.settings["num_attention_heads"]

        def split_heads(name: str) -> numpy.ndarray:
            projected = self.project(hidden, f"{layer}.attention.self.{name}")
            return projected.reshape(length, heads, width // heads).transpose(1, 0, 2)

        query, key, value = (split_heads(name) for name in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / numpy.float32(math.sqrt(width // heads))
        shares = numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        shares = shares / shares.sum(axis=-1, keepdims=True)
        return (shares @ value).transpose(1, 0, 2).reshape(length, width)

    def project(self, hidden: numpy.ndarray, name: str) -> numpy.ndarray:
        return hidden @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def normalize_layer(self, hidden: numpy.ndarray, name: str) -> numpy.ndarray:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        scaled = centred / numpy.sqrt(variance + numpy.float32(self.settings["layer_norm_eps"]))
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def split_words(text: str) -> list[str]:
    """BERT's uncased basic tokenizer: strips accents, lower-cases, and separates punctuation and CJK characters."""
    plain = unicodedata.normalize("NFD", text.lower())
    characters: list[str] = []
    for character in plain:
        if is_dropped(character):
            continue
        is_alone = is_punctuation(character) or is_chinese(character)
        characters.append(f" {character} " if is_alone else character)
    return "".join(characters).split()


def is_dropped(character: str) -> bool:
    category = unicodedata.category(character)
    is_control = category.startswith("C") and character not in "\t\n\r"
    return category == "Mn" or is_control or character == "\ufffd"


def is_punctuation(character: str) -> bool:
    is_ascii_symbol = 33 <= ord(character) <= 126 and not character.isalnum()
    return is_ascii_symbol or unicodedata.category(character).startswith("P")


def is_chinese(character: str) -> bool:
    ranges = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2FA1F), (0xF900, 0xFAFF))
    return any(first <= ord(character) <= last for first, last in ranges)


def exact_gelu(values: numpy.ndarray) -> numpy.ndarray:
    error_function = numpy.frompyfunc(math.erf, 1, 1)
    halves = error_function(values / numpy.float32(math.sqrt(2))).astype(numpy.float32)
    return values * (1 + halves) / 2


if __name__ == "__main__":
    main()
