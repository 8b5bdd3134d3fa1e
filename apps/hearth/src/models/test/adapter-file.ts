import { type Entry, writeModel } from "@hearth-and-keep/gguf/testing";

/** A valid adapter of rank one for the tiny model, which changes its output. */
export function writeAdapter(): Buffer {
  const entries: Entry[] = [
    { key: "general.architecture", type: "string", value: "llama" },
    { key: "general.type", type: "string", value: "adapter" },
    { key: "adapter.type", type: "string", value: "lora" },
    { key: "adapter.lora.alpha", type: "float32", value: 1 },
  ];
  const inputs = 512;
  const outputs = 128;
  const weights = Float32Array.from({ length: inputs + outputs }, (_, index) => Math.sin(index));
  return writeModel({
    entries,
    tensors: [
      { name: "blk.5.ffn_down.weight.lora_a", shape: [inputs, 1], offset: 0 },
      { name: "blk.5.ffn_down.weight.lora_b", shape: [1, outputs], offset: inputs * 4 },
    ],
    content: new Uint8Array(weights.buffer),
  });
}
