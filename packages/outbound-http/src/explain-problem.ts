import { OutboundProblem, type OutboundReason } from "./outbound.ts";

const reasons: Readonly<Record<string, OutboundReason>> = {
  ENOTFOUND: "no-address",
  ENODATA: "no-address",
  EAI_AGAIN: "no-address",
  ECONNREFUSED: "connection-refused",
  EHOSTUNREACH: "connection-refused",
  ENETUNREACH: "connection-refused",
  EADDRNOTAVAIL: "connection-refused",
  ETIMEDOUT: "timed-out",
  HPE_HEADER_OVERFLOW: "answer-too-large",
  HOSTNAME_MISMATCH: "certificate-untrusted",
};

const certificateCodes =
  /^(?:CERT_|CRL_|UNABLE_TO_|ERR_TLS_CERT)|SELF_SIGNED|INVALID_CA|PATH_LENGTH_EXCEEDED/u;

/** Why there is no answer, in our words; the system's own stay in the cause. */
export function explainProblem(host: string, problem: unknown): OutboundProblem {
  if (problem instanceof OutboundProblem) return problem;
  return new OutboundProblem(host, reasonOf(codeOf(problem)), { cause: problem });
}

export function codeOf(problem: unknown): string {
  return problem instanceof Error && "code" in problem && typeof problem.code === "string"
    ? problem.code
    : "";
}

function reasonOf(code: string): OutboundReason {
  return certificateCodes.test(code) ? "certificate-untrusted" : (reasons[code] ?? "connection-broken");
}
