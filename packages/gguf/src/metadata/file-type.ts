import type { Metadata } from "../reading/read-header.ts";
import type { Tensor } from "../reading/read-tensors.ts";

/** llama.cpp's file types by number. The missing numbers are no longer in use. */
const names: Readonly<Record<number, string>> = {
  0: "F32",
  1: "F16",
  2: "Q4_0",
  3: "Q4_1",
  7: "Q8_0",
  8: "Q5_0",
  9: "Q5_1",
  10: "Q2_K",
  11: "Q3_K_S",
  12: "Q3_K_M",
  13: "Q3_K_L",
  14: "Q4_K_S",
  15: "Q4_K_M",
  16: "Q5_K_S",
  17: "Q5_K_M",
  18: "Q6_K",
  19: "IQ2_XXS",
  20: "IQ2_XS",
  21: "Q2_K_S",
  22: "IQ3_XS",
  23: "IQ3_XXS",
  24: "IQ1_S",
  25: "IQ4_NL",
  26: "IQ3_S",
  27: "IQ3_M",
  28: "IQ2_S",
  29: "IQ2_M",
  30: "IQ4_XS",
  31: "IQ1_M",
  32: "BF16",
  36: "TQ1_0",
  37: "TQ2_0",
  38: "MXFP4_MOE",
  39: "NVFP4",
  40: "Q1_0",
  41: "Q2_0",
};

/** The file type declared in the metadata, or else the type of most of the weights. */
export function nameFileType(metadata: Metadata, tensors: readonly Tensor[]): string {
  const value = metadata.get("general.file_type")?.value;
  const declared = typeof value === "number" || typeof value === "bigint" ? names[Number(value)] : undefined;
  return declared ?? mostCommonType(tensors) ?? "unknown";
}

function mostCommonType(tensors: readonly Tensor[]): string | undefined {
  const weights = new Map<string, number>();
  for (const tensor of tensors) weights.set(tensor.type, (weights.get(tensor.type) ?? 0) + tensor.weights);
  return [...weights].toSorted(([, first], [, second]) => second - first)[0]?.[0];
}
