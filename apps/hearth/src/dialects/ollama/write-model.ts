import type { ModelDetails } from "../../models/metadata/describe-model.ts";

/** Without the `sha256:` prefix, because clients show the first characters of a digest. */
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
