/**
 * @module
 * Checks that the values of a well-formed header are plausible: values that native code multiplies, divides by, or
 * uses to index another array are within bounds. The bounds are far above any known model, so only malformed or hostile
 * files are rejected. Missing keys are left to llama.cpp, which reports them safely.
 * Imported by this package only.
 */
import type { Metadata } from "../reading/read-header.ts";
import { checkDimensions } from "./check-dimensions.ts";
import { checkProjector } from "./check-projector.ts";
import { checkVocabulary } from "./check-vocabulary.ts";
import { findInteger, findString, rejectKey } from "./metadata-values.ts";

const architectureKey = "general.architecture";

/** Checks all metadata and returns the architecture; null for the second and later parts of a split model. */
export function checkMetadata(metadata: Metadata): string | null {
  const architecture = findString(metadata, architectureKey);
  checkVocabulary(metadata);
  if (architecture === undefined) {
    const part = findInteger(metadata, "split.no", { min: 0, max: 65_535 }) ?? 0;
    if (part > 0) return null;
    return rejectKey(architectureKey, "The file does not declare its architecture", "key-missing");
  }
  if (!/^[a-z0-9][\w.-]{0,63}$/iu.test(architecture)) {
    return rejectKey(architectureKey, "The name of the architecture is not valid");
  }
  checkDimensions(metadata, architecture);
  if (architecture === "clip") checkProjector(metadata);
  return architecture;
}
