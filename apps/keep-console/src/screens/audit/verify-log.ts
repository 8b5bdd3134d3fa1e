import { type AuditVerification, verifyAuditExport } from "@hearth-and-keep/audit-records";
import type { AuditKeys } from "@hearth-and-keep/vault-contract";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { logPath } from "./audit-log.ts";
import type { LogId } from "./audit-record.ts";

export type VerifyOptions = {
  readonly logId: LogId;
  readonly signal: AbortSignal;
  readonly onProgress: (records: number) => void;
};

/** Verifies an exported log in this browser; of the server, only its public signing keys are trusted. */
export async function verifyLog({ logId, signal, onProgress }: VerifyOptions): Promise<AuditVerification> {
  const { body } = await request<AuditKeys>("/api/secrets/audit/keys", { signal });
  const response = await fetch(`${logPath(logId)}/export`, {
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!response.ok || response.body === null)
    throw new ApiError(response.status, { title: "Cannot download the log", code: "unavailable" });
  return verifyAuditExport(countRecords(readLines(response.body), onProgress), { keys: body.keys });
}

/** Web Crypto checks the signatures; older browsers lack Ed25519, and insecure pages lack Web Crypto. */
export async function canVerify(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return true;
  } catch {
    return false;
  }
}

const progressInterval = 500;

/** The members of a line are sorted, so its type is at the end; `link` is a record of the earlier log. */
const recordLine = /"type":"(?:record|link)"\}$/u;

/** Reports how many records have passed while the lines stream to the verifier. */
async function* countRecords(
  lines: AsyncIterable<string>,
  onProgress: (records: number) => void,
): AsyncGenerator<string> {
  let records = 0;
  for await (const line of lines) {
    if (recordLine.test(line)) {
      records += 1;
      if (records % progressInterval === 0) onProgress(records);
    }
    yield line;
  }
  onProgress(records);
}

async function* readLines(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const lines = (rest + chunk.value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  // A last line without a newline was cut off; the verifier reports it.
  if (rest !== "") yield rest;
}
