import type { ModelDetails } from "../../models/metadata/describe-model.ts";

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
