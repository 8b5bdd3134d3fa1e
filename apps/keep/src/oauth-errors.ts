import { type BufferedResponse, jsonResponse } from "@hearth-and-keep/http-service";
import type { LoginError, OAuthError } from "@hearth-and-keep/vault-contract";
import type { RequestFailure } from "./failures.ts";

const maxDescriptionCharacters = 2048;

/** An error of RFC 6749 section 5.2 for a row with `errors: "oauth"`; undefined for failures that it has no code for. */
export function oauthErrorResponse(failure: RequestFailure): BufferedResponse | undefined {
  const error = describeError(failure);
  return error === undefined ? undefined : jsonResponse(error, 400);
}

function describeError(failure: RequestFailure): OAuthError | LoginError | undefined {
  if (failure.kind === "exchange-refused")
    return { error: failure.error, error_description: failure.description };
  if (failure.kind === "request-invalid")
    return invalidRequest(failure.errors.map(({ field, reason }) => `${field} ${reason}`).join("; "));
  if (failure.kind === "body-unreadable")
    return invalidRequest(
      "The body must be a form of type application/x-www-form-urlencoded, with each field once",
    );
  return undefined;
}

function invalidRequest(description: string): OAuthError {
  // RFC 6749 allows printable ASCII without quotes and backslashes.
  const text = description.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/gu, " ");
  return { error: "invalid_request", error_description: text.slice(0, maxDescriptionCharacters) };
}
