"""An audio projector with random weights for the tiny llama, shaped like Ultravox: a small Whisper encoder, whose frames
are stacked and projected by a gated MLP. Every 30 seconds of sound become 50 tokens."""

from pathlib import Path

import gguf
import numpy
from llama import EMBEDDING_LENGTH
from projector import add_layer
from weights import WeightSource

SEED = 20_137
MEL_BINS = 16
# Of 30 seconds, after the second convolution has halved them.
FRAME_COUNT = 1500
KERNEL_SIZE = 3
WIDTH = 32
FEED_FORWARD_LENGTH = 64
BLOCK_COUNT = 1
HEAD_COUNT = 2
STACK_FACTOR = 30
HIDDEN_LENGTH = 64


def make_tiny_audio_projector(target: Path) -> None:
    writer = gguf.GGUFWriter(target, "clip")
    writer.add_type("mmproj")
    writer.add_name("Tiny audio projector of random weights")
    writer.add_license("apache-2.0")
    add_shape(writer)
    add_tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_shape(writer: gguf.GGUFWriter) -> None:
    writer.add_clip_has_audio_encoder(True)
    writer.add_clip_projector_type("ultravox")
    writer.add_audio_num_mel_bins(MEL_BINS)
    writer.add_audio_embedding_length(WIDTH)
    writer.add_audio_feed_forward_length(FEED_FORWARD_LENGTH)
    writer.add_audio_projection_dim(EMBEDDING_LENGTH)
    writer.add_audio_block_count(BLOCK_COUNT)
    writer.add_audio_head_count(HEAD_COUNT)
    writer.add_audio_attention_layernorm_eps(1e-5)
    writer.add_audio_stack_factor(STACK_FACTOR)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def add_tensors(writer: gguf.GGUFWriter) -> None:
    source = WeightSource(SEED)
    add_convolution(writer, source, ("a.conv1d.1", MEL_BINS))
    add_convolution(writer, source, ("a.conv1d.2", WIDTH))
    writer.add_tensor("a.position_embd.weight", source.draw((FRAME_COUNT, WIDTH), 0.5))
    for block in range(BLOCK_COUNT):
        for norm in ("ln1", "ln2"):
            add_norm(writer, f"a.blk.{block}.{norm}")
        for name in ("attn_q", "attn_v", "attn_out"):
            add_layer(writer, source, (f"a.blk.{block}.{name}", WIDTH, WIDTH))
        # Whisper's keys have no bias.
        writer.add_tensor(f"a.blk.{block}.attn_k.weight", source.draw((WIDTH, WIDTH), 0.2))
        add_layer(writer, source, (f"a.blk.{block}.ffn_up", FEED_FORWARD_LENGTH, WIDTH))
        add_layer(writer, source, (f"a.blk.{block}.ffn_down", WIDTH, FEED_FORWARD_LENGTH))
    add_norm(writer, "a.post_ln")
    stacked = WIDTH * STACK_FACTOR
    writer.add_tensor("mm.a.norm_pre.weight", numpy.ones(stacked, dtype=numpy.float32))
    writer.add_tensor("mm.a.mlp.1.weight", source.draw((HIDDEN_LENGTH, stacked), 0.1))
    # Half of the hidden values are gates.
    writer.add_tensor("mm.a.norm_mid.weight", numpy.ones(HIDDEN_LENGTH // 2, dtype=numpy.float32))
    writer.add_tensor("mm.a.mlp.2.weight", source.draw((EMBEDDING_LENGTH, HIDDEN_LENGTH // 2), 0.2))


def add_convolution(writer: gguf.GGUFWriter, source: WeightSource, layer: tuple[str, int]) -> None:
    name, channels = layer
    weights = source.draw((WIDTH, channels, KERNEL_SIZE), 0.2)
    # llama.cpp convolves with half precision only.
    writer.add_tensor(f"{name}.weight", weights.astype(numpy.float16))
    writer.add_tensor(f"{name}.bias", source.draw((WIDTH, 1), 0.1))


def add_norm(writer: gguf.GGUFWriter, name: str) -> None:
    writer.add_tensor(f"{name}.weight", numpy.ones(WIDTH, dtype=numpy.float32))
    writer.add_tensor(f"{name}.bias", numpy.zeros(WIDTH, dtype=numpy.float32))
