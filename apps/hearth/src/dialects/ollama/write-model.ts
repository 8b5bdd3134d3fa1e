import type { ModelDetails } from "../../models/metadata/describe-model.ts";

/** Clients cut a digest to its first characters, so it comes without the name of its algorithm. */
export function bareDigest(digest: string): string {
  return digest.replace(/^sha256:/u, "");
}

export function writeDetails(details?: ModelDetails) {
  return {
    parent_model: details?.parentModel ?? "",
    format: details?.format ?? "",
    family: details?.family ?? "",
    families: details?.families ?? [],
    parameter_size: details?.parameterSize ?? "",
    quantization_level: details?.quantization ?? "",
  };
}
