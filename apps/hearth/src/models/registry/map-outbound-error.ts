import { type OutboundAnswer, OutboundProblem, type OutboundReason } from "@hearth-and-keep/outbound-http";
import { modelFailure, type TransferFailure } from "../model-failure.ts";

/** Why a host could not be asked, as a failure of ours; anything else stays what it is. */
export function explainOutbound(problem: unknown): unknown {
  if (!(problem instanceof OutboundProblem)) return problem;
  return modelFailure(failureFor(problem.host, problem.reason), { cause: problem });
}

/** The whole body, with what goes wrong on the way as a failure of ours. */
export async function readWhole(answer: OutboundAnswer, mostBytes: number): Promise<Buffer> {
  try {
    return await answer.readWhole(mostBytes);
  } catch (problem) {
    throw explainOutbound(problem);
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
      return { kind: "registry-answer-invalid", host, reason: "it redirects to what is no address" };
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
    case "answer-too-large":
      return { kind: "registry-answer-invalid", host, reason: "its answer is too long" };
    case "answer-packed":
      return {
        kind: "registry-answer-invalid",
        host,
        reason: "its answer is packed, which we did not ask for",
      };
  }
}
