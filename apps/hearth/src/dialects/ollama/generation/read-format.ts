import type { OutputConstraint } from "@hearth-and-keep/engine";
import { invalidField } from "../../../failures.ts";

/** Undefined leaves the output unconstrained. */
export function readFormat(format: unknown): OutputConstraint | undefined {
  if (format === undefined || format === null || format === "") return undefined;
  if (format === "json") return { type: "json" };
  if (typeof format === "object" && !Array.isArray(format)) return { type: "json-schema", schema: format };
  throw invalidField("", 'invalid format; expected "json" or a valid JSON Schema object');
}
