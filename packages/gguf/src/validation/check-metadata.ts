/**
 * @module
 * Whether the values of a well-formed header make sense together: what native code multiplies, divides by, or
 * reads by another array's length is within bounds. Bounds stand far above every known model, so what is refused
 * is broken or hostile. A key that a file leaves out is not missed here: llama.cpp says so itself, unharmed.
 * Imported by this package only.
 */
import type { Metadata } from "../reading/read-header.ts";
import { checkDimensions } from "./check-dimensions.ts";
import { checkProjector } from "./check-projector.ts";
import { checkVocabulary } from "./check-vocabulary.ts";
import { findText, findWhole, refuseKey } from "./metadata-values.ts";

const architectureKey = "general.architecture";

/** The architecture, once everything known about it was checked; null for the later parts of a split model. */
export function checkMeaning(metadata: Metadata): string | null {
  const architecture = findText(metadata, architectureKey);
  checkVocabulary(metadata);
  if (architecture === undefined) {
    const part = findWhole(metadata, "split.no", { least: 0, most: 65_535 }) ?? 0;
    if (part > 0) return null;
    return refuseKey(architectureKey, "The file does not say which architecture it has", "key-missing");
  }
  if (!/^[a-z0-9][\w.-]{0,63}$/iu.test(architecture)) {
    return refuseKey(architectureKey, "The name of the architecture is not a plain word");
  }
  checkDimensions(metadata, architecture);
  if (architecture === "clip") checkProjector(metadata);
  return architecture;
}
