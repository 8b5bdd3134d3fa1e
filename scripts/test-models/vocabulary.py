"""A byte-level BPE vocabulary: every byte is a token, so any text round-trips unchanged."""

from dataclasses import dataclass

import gguf

# The bytes that GPT-2 writes as themselves; the others are shifted to letters from U+0100 on.
PRINTABLE_BYTES = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))
FILL_TOKENS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *FILL_TOKENS)
MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
WORDS = """
the of and to in is that it for was on are as with be at by this have from or one had not but what all were
when we there can an your which their said if do will each about how up out them then she many some so these
would other into has more her two like him see time could no make than first been its who now people my made
over did down only way find use may water long little very after words called just where most know get through
back much before go good new write our used me man too any day same right look think also around another came
come work three word must because does part even place well such here take why things help put years different
away again off went old number great tell men say small every found still between name should home big give air
line set own under read last never us left end along while might next sound below saw something thought both few
those always looked show large often together asked house world going want school important until form food keep
children feet land side without boy once animals life enough took sometimes four head above kind began almost
live page got earth need far hand high year mother light parts country father let night following picture being
study second eyes soon times story boys since white days ever paper hard near sentence better best across during
today others however sure means knew try told young miles sun ways thing whole hear example heard several change
answer room sea against top turned learn point city play toward five using himself usually
""".split()


@dataclass(frozen=True)
class Vocabulary:
    tokens: list[str]
    types: list[gguf.TokenType]
    merges: list[str]
    # Indexes of the tokens that are not printable text on their own.
    unprintable: list[int]


def make_vocabulary() -> Vocabulary:
    alphabet = byte_alphabet()
    merges, merged = merge_words(alphabet)
    normal = [*alphabet, *merged]
    unprintable_bytes = [byte for byte in range(256) if byte >= 0x7F or byte < 0x20]
    marks_start = len(normal)
    total = marks_start + len(MARKS) + len(CONTROL_TOKENS)
    return Vocabulary(
        tokens=[*normal, *MARKS, *CONTROL_TOKENS],
        types=[gguf.TokenType.NORMAL] * len(normal)
        + [gguf.TokenType.USER_DEFINED] * len(MARKS)
        + [gguf.TokenType.CONTROL] * len(CONTROL_TOKENS),
        merges=merges,
        unprintable=[*unprintable_bytes, *range(marks_start, total)],
    )


def byte_alphabet() -> list[str]:
    shifted = iter(range(0x100, 0x200))
    return [chr(byte) if byte in PRINTABLE_BYTES else chr(next(shifted)) for byte in range(256)]


def merge_words(alphabet: list[str]) -> tuple[list[str], list[str]]:
    """Merges each word with its leading space letter by letter, so that every prefix of a word is a token."""
    merges: list[str] = []
    tokens: list[str] = []
    for word in WORDS:
        grown = alphabet[ord(" ")]
        for letter in word:
            if grown + letter not in tokens:
                merges.append(f"{grown} {letter}")
                tokens.append(grown + letter)
            grown += letter
    return merges, tokens
