import { OutboundError, type OutboundReason } from "./outbound.ts";

const reasons: Readonly<Record<string, OutboundReason>> = {
  ENOTFOUND: "no-address",
  ENODATA: "no-address",
  EAI_AGAIN: "no-address",
  ECONNREFUSED: "connection-refused",
  EHOSTUNREACH: "connection-refused",
  ENETUNREACH: "connection-refused",
  EADDRNOTAVAIL: "connection-refused",
  ETIMEDOUT: "timed-out",
  HPE_HEADER_OVERFLOW: "response-too-large",
  HOSTNAME_MISMATCH: "certificate-untrusted",
};

const certificateCodes =
  /^(?:CERT_|CRL_|UNABLE_TO_|ERR_TLS_CERT)|SELF_SIGNED|INVALID_CA|PATH_LENGTH_EXCEEDED/u;

/** Maps Node's error codes to a reason; the original error is the cause. */
export function toOutboundError(host: string, error: unknown): OutboundError {
  if (error instanceof OutboundError) return error;
  return new OutboundError(host, reasonOf(errorCode(error)), { cause: error });
}

export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}

function reasonOf(code: string): OutboundReason {
  return certificateCodes.test(code) ? "certificate-untrusted" : (reasons[code] ?? "connection-broken");
}
