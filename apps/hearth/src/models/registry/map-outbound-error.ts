import { OutboundError, type OutboundReason, type OutboundResponse } from "@hearth-and-keep/outbound-http";
import { modelFailure, type TransferFailure } from "../model-failure.ts";

/** Maps errors of the outbound client to model failures; other errors are returned unchanged. */
export function mapOutboundError(error: unknown): unknown {
  if (!(error instanceof OutboundError)) return error;
  return modelFailure(failureFor(error.host, error.reason), { cause: error });
}

/** Reads the whole body; errors are mapped to model failures. */
export async function readBody(response: OutboundResponse, maxBytes: number): Promise<Buffer> {
  try {
    return await response.readAll(maxBytes);
  } catch (error) {
    throw mapOutboundError(error);
  }
}

function failureFor(host: string, reason: OutboundReason): TransferFailure {
  switch (reason) {
    case "scheme-forbidden":
      return { kind: "address-forbidden", host, reason: "scheme" };
    case "plain-forbidden":
      return { kind: "address-forbidden", host, reason: "plain" };
    case "address-forbidden":
      return { kind: "address-forbidden", host, reason: "private" };
    case "redirects-too-many":
      return { kind: "address-forbidden", host, reason: "redirects" };
    case "redirect-invalid":
      return { kind: "registry-response-invalid", host, reason: "it redirects to an invalid URL" };
    case "no-address":
      return { kind: "registry-unreachable", host, reason: "no-address" };
    case "connection-refused":
      return { kind: "registry-unreachable", host, reason: "refused" };
    case "connection-broken":
      return { kind: "registry-unreachable", host, reason: "broken" };
    case "certificate-untrusted":
      return { kind: "registry-unreachable", host, reason: "untrusted-certificate" };
    case "timed-out":
      return { kind: "registry-unreachable", host, reason: "timed-out" };
    case "response-too-large":
      return { kind: "registry-response-invalid", host, reason: "its response is too large" };
    case "response-compressed":
      return {
        kind: "registry-response-invalid",
        host,
        reason: "its response is compressed, which was not requested",
      };
  }
}
