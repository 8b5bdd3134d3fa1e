import type { FailureError } from "@hearth-and-keep/failures";
import { type RequestFailure, requestFailure } from "../../../failures.ts";

/** A part of the body that its schema lets pass and that cannot be answered all the same. */
export function invalid(place: string, reason: string): FailureError<RequestFailure> {
  return requestFailure({ kind: "request-invalid", place, reason });
}
