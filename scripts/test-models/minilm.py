"""Converts all-MiniLM-L6-v2 from safetensors to a GGUF that llama.cpp loads as architecture "bert"."""

import json
from pathlib import Path

import gguf
import numpy
from safetensors.numpy import load_file

# llama.cpp's WordPiece marks the start of a word where BERT's vocabulary marks the continuation.
WORD_START = "\u2581"
CONTINUATION = "##"
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

OUTER_TENSORS = {
    "embeddings.word_embeddings.weight": "token_embd.weight",
    "embeddings.position_embeddings.weight": "position_embd.weight",
    "embeddings.token_type_embeddings.weight": "token_types.weight",
    "embeddings.LayerNorm.weight": "token_embd_norm.weight",
    "embeddings.LayerNorm.bias": "token_embd_norm.bias",
}
LAYER_TENSORS = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
# The pooler is BERT's own head, which sentence embeddings do not use; position ids are just 0, 1, 2 …
UNUSED_TENSORS = {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"}


def convert_minilm(source: Path, target: Path) -> None:
    settings = json.loads((source / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_license("apache-2.0")
    add_shape(writer, settings)
    add_vocabulary(writer, (source / "vocab.txt").read_text("utf-8").splitlines())
    add_tensors(writer, load_file(source / "model.safetensors"), settings["num_hidden_layers"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_shape(writer: gguf.GGUFWriter, settings: dict) -> None:
    writer.add_context_length(settings["max_position_embeddings"])
    writer.add_embedding_length(settings["hidden_size"])
    writer.add_feed_forward_length(settings["intermediate_size"])
    writer.add_block_count(settings["num_hidden_layers"])
    writer.add_head_count(settings["num_attention_heads"])
    writer.add_layer_norm_eps(settings["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def add_vocabulary(writer: gguf.GGUFWriter, tokens: list[str]) -> None:
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list([to_llama_token(token) for token in tokens])
    writer.add_token_types([token_type(token) for token in tokens])
    # llama.cpp starts a text with the "bos" id; other readers use the key named after the token.
    writer.add_bos_token_id(tokens.index("[CLS]"))
    writer.add_uint32("tokenizer.ggml.cls_token_id", tokens.index("[CLS]"))
    writer.add_eos_token_id(tokens.index("[SEP]"))
    writer.add_sep_token_id(tokens.index("[SEP]"))
    writer.add_unk_token_id(tokens.index("[UNK]"))
    writer.add_pad_token_id(tokens.index("[PAD]"))
    writer.add_mask_token_id(tokens.index("[MASK]"))


def to_llama_token(token: str) -> str:
    if token in SPECIAL_TOKENS or is_unused(token):
        return token
    if token.startswith(CONTINUATION):
        return token.removeprefix(CONTINUATION)
    return WORD_START + token


def token_type(token: str) -> gguf.TokenType:
    if token in SPECIAL_TOKENS:
        return gguf.TokenType.UNKNOWN if token == "[UNK]" else gguf.TokenType.CONTROL
    return gguf.TokenType.UNUSED if is_unused(token) else gguf.TokenType.NORMAL


def is_unused(token: str) -> bool:
    return token.startswith("[unused") and token.endswith("]")


def add_tensors(writer: gguf.GGUFWriter, tensors: dict[str, numpy.ndarray], layers: int) -> None:
    names = dict(OUTER_TENSORS)
    for layer in range(layers):
        for source, target in LAYER_TENSORS.items():
            for part in ("weight", "bias"):
                names[f"encoder.layer.{layer}.{source}.{part}"] = f"blk.{layer}.{target}.{part}"
    unknown = set(tensors) - set(names) - UNUSED_TENSORS
    if unknown:
        raise ValueError(f"Cannot convert MiniLM: unknown tensors {sorted(unknown)}")
    for source, target in names.items():
        writer.add_tensor(target, tensors[source].astype(numpy.float32))
