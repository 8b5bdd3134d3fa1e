"""An image projector with random weights for the tiny llama: a small vision transformer and a two-layer MLP."""

from pathlib import Path

import gguf
import numpy
from llama import EMBEDDING_LENGTH
from weights import WeightSource

SEED = 20_136
IMAGE_SIZE = 56
PATCH_SIZE = 14
WIDTH = 64
FEED_FORWARD_LENGTH = 128
BLOCK_COUNT = 2
HEAD_COUNT = 4
PATCH_COUNT = (IMAGE_SIZE // PATCH_SIZE) ** 2


def make_tiny_projector(target: Path) -> None:
    writer = gguf.GGUFWriter(target, "clip")
    writer.add_type("mmproj")
    writer.add_name("Tiny image projector of random weights")
    writer.add_license("apache-2.0")
    add_shape(writer)
    add_tensors(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def add_shape(writer: gguf.GGUFWriter) -> None:
    writer.add_clip_has_vision_encoder(True)
    writer.add_clip_projector_type("mlp")
    writer.add_vision_image_size(IMAGE_SIZE)
    writer.add_vision_patch_size(PATCH_SIZE)
    writer.add_vision_embedding_length(WIDTH)
    writer.add_vision_feed_forward_length(FEED_FORWARD_LENGTH)
    writer.add_vision_projection_dim(EMBEDDING_LENGTH)
    writer.add_vision_block_count(BLOCK_COUNT)
    writer.add_vision_head_count(HEAD_COUNT)
    writer.add_vision_attention_layernorm_eps(1e-5)
    writer.add_vision_image_mean([0.5, 0.5, 0.5])
    writer.add_vision_image_std([0.5, 0.5, 0.5])
    writer.add_vision_use_gelu(True)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)


def add_tensors(writer: gguf.GGUFWriter) -> None:
    source = WeightSource(SEED)
    writer.add_tensor("v.patch_embd.weight", source.draw((WIDTH, 3, PATCH_SIZE, PATCH_SIZE), 0.1))
    writer.add_tensor("v.position_embd.weight", source.draw((PATCH_COUNT, WIDTH), 0.5))
    for block in range(BLOCK_COUNT):
        for norm in ("ln1", "ln2"):
            writer.add_tensor(f"v.blk.{block}.{norm}.weight", numpy.ones(WIDTH, dtype=numpy.float32))
            writer.add_tensor(f"v.blk.{block}.{norm}.bias", numpy.zeros(WIDTH, dtype=numpy.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            add_layer(writer, source, (f"v.blk.{block}.{name}", WIDTH, WIDTH))
        add_layer(writer, source, (f"v.blk.{block}.ffn_up", FEED_FORWARD_LENGTH, WIDTH))
        add_layer(writer, source, (f"v.blk.{block}.ffn_down", WIDTH, FEED_FORWARD_LENGTH))
    writer.add_tensor("v.post_ln.weight", numpy.ones(WIDTH, dtype=numpy.float32))
    writer.add_tensor("v.post_ln.bias", numpy.zeros(WIDTH, dtype=numpy.float32))
    add_layer(writer, source, ("mm.0", EMBEDDING_LENGTH, WIDTH))
    add_layer(writer, source, ("mm.2", EMBEDDING_LENGTH, EMBEDDING_LENGTH))


def add_layer(writer: gguf.GGUFWriter, source: WeightSource, layer: tuple[str, int, int]) -> None:
    name, rows, columns = layer
    writer.add_tensor(f"{name}.weight", source.draw((rows, columns), 0.2))
    writer.add_tensor(f"{name}.bias", source.draw((rows,), 0.1))
