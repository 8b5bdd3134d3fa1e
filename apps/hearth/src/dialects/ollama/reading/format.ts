import type { OutputConstraint } from "@hearth-and-keep/engine";
import { requestFailure } from "../../../failures.ts";

/** Undefined leaves the answer free. */
export function readFormat(format: unknown): OutputConstraint | undefined {
  if (format === undefined || format === null || format === "") return undefined;
  if (format === "json") return { type: "json" };
  if (typeof format === "object" && !Array.isArray(format)) return { type: "json-schema", schema: format };
  throw requestFailure({
    kind: "request-invalid",
    place: "",
    reason: 'invalid format; expected "json" or a valid JSON Schema object',
  });
}
