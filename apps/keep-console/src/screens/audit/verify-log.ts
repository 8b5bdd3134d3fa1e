import {
  type CheckpointKey,
  readExportLine,
  type VerificationResult,
  verifyChain,
} from "@hearth-and-keep/audit-chain";
import type { AuditKeys } from "@hearth-and-keep/vault-contract";
import { ApiError, request } from "../../vault-api/api-client.ts";
import { logPath } from "./audit-log.ts";
import type { LogId } from "./audit-record.ts";

export type VerifyReport = {
  readonly result: VerificationResult;
  /** Time of the first record; undefined when the log is empty. */
  readonly since: string | undefined;
  /** The last signed checkpoint, with the time of the record it covers. */
  readonly checkpoint: { readonly seq: number; readonly keyVersion: number; readonly at: string } | undefined;
};

export type VerifyOptions = {
  readonly logId: LogId;
  readonly signal: AbortSignal;
  readonly onProgress: (records: number) => void;
};

/** Verifies an exported log in this browser; of the server, only its public signing keys are trusted. */
export async function verifyLog({ logId, signal, onProgress }: VerifyOptions): Promise<VerifyReport> {
  const { body } = await request<AuditKeys>("/api/secrets/audit/keys", { signal });
  const response = await fetch(`${logPath(logId)}/export`, {
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!response.ok || response.body === null)
    throw new ApiError(response.status, { title: "Cannot download the log", code: "unavailable" });
  const observer = new ExportObserver(onProgress);
  const result = await verifyChain(observer.observe(readLines(response.body)), {
    keys: body.keys satisfies readonly CheckpointKey[],
  });
  return { result, since: observer.since, checkpoint: observer.checkpoint };
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

/** Collects what the report shows while the lines stream to the verifier. */
class ExportObserver {
  readonly #onProgress: (records: number) => void;
  #records = 0;
  #lastAt = "";
  since: string | undefined;
  checkpoint: VerifyReport["checkpoint"];

  constructor(onProgress: (records: number) => void) {
    this.#onProgress = onProgress;
  }

  async *observe(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      this.#record(line);
      yield line;
    }
    this.#onProgress(this.#records);
  }

  #record(text: string): void {
    const line = readExportLine(text);
    if (line?.type === "link") {
      this.since ??= line.at;
      this.#lastAt = line.at;
      this.#records += 1;
      if (this.#records % progressInterval === 0) this.#onProgress(this.#records);
    }
    if (line?.type === "checkpoint")
      this.checkpoint = { seq: line.seq, keyVersion: line.key_version, at: this.#lastAt };
  }
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
