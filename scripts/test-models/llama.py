"""A llama-architecture model with random weights: its output is meaningless, but it loads and generates instantly."""

from pathlib import Path

import gguf
import numpy
from vocabulary import Vocabulary, make_vocabulary
from weights import WeightSource

SEED = 20_135
CONTEXT_LENGTH = 16_384
EMBEDDING_LENGTH = 128
BLOCK_COUNT = 6
HEAD_COUNT = 4
KEY_VALUE_HEAD_COUNT = 2
FEED_FORWARD_LENGTH = 512
CHAT_TEMPLATE = Path(__file__).with_name("chat-template.jinja")


def make_tiny_llama(target: Path) -> None:
    vocabulary = make_vocabulary()
    writer = gguf.GGUFWriter(target, "llama")
    writer.add_name("Tiny Llama of random weights")
    writer.add_license("apache-2.0")
    add_shape(writer, len(vocabulary.tokens))
    add_vocabulary(writer, vocabulary)
    add_tensors(writer, vocabulary)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_shape(writer: gguf.GGUFWriter, vocabulary_size: int) -> None:
    writer.add_vocab_size(vocabulary_size)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(EMBEDDING_LENGTH)
    writer.add_block_count(BLOCK_COUNT)
    writer.add_feed_forward_length(FEED_FORWARD_LENGTH)
    writer.add_head_count(HEAD_COUNT)
    writer.add_head_count_kv(KEY_VALUE_HEAD_COUNT)
    writer.add_rope_dimension_count(EMBEDDING_LENGTH // HEAD_COUNT)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def add_vocabulary(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(vocabulary.tokens.index("<|im_end|>"))
    writer.add_pad_token_id(vocabulary.tokens.index("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE.read_text("utf-8"))


def add_tensors(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    source = WeightSource(SEED)
    size = len(vocabulary.tokens)
    key_value_length = EMBEDDING_LENGTH // HEAD_COUNT * KEY_VALUE_HEAD_COUNT
    matrices = {
        "attn_q": (EMBEDDING_LENGTH, EMBEDDING_LENGTH),
        "attn_k": (key_value_length, EMBEDDING_LENGTH),
        "attn_v": (key_value_length, EMBEDDING_LENGTH),
        "attn_output": (EMBEDDING_LENGTH, EMBEDDING_LENGTH),
        "ffn_gate": (FEED_FORWARD_LENGTH, EMBEDDING_LENGTH),
        "ffn_up": (FEED_FORWARD_LENGTH, EMBEDDING_LENGTH),
        "ffn_down": (EMBEDDING_LENGTH, FEED_FORWARD_LENGTH),
    }
    ones = numpy.ones(EMBEDDING_LENGTH, dtype=numpy.float32)
    writer.add_tensor("token_embd.weight", to_half(source.draw((size, EMBEDDING_LENGTH), 1.0)))
    for block in range(BLOCK_COUNT):
        writer.add_tensor(f"blk.{block}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{block}.ffn_norm.weight", ones)
        for name, shape in matrices.items():
            writer.add_tensor(f"blk.{block}.{name}.weight", to_half(source.draw(shape, 0.15)))
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", to_half(draw_output(source, vocabulary)))


def draw_output(source: WeightSource, vocabulary: Vocabulary) -> numpy.ndarray:
    """Tokens with zero weights score average, so greedy and top-k sampling never choose them.

    Output is therefore printable text that ends only at the caller's token limit.
    """
    weights = source.draw((len(vocabulary.tokens), EMBEDDING_LENGTH), 0.5)
    weights[vocabulary.unprintable] = 0
    return weights


def to_half(weights: numpy.ndarray) -> numpy.ndarray:
    return weights.astype(numpy.float16)
