import { type CheckpointKey, readExportLine, type Verdict, verifyChain } from "@hearth-and-keep/audit-chain";
import type { AuditKeys } from "@hearth-and-keep/vault-contract";
import { ask, KeepProblem } from "../../vault-api/api-client.ts";
import { logPath } from "./audit-log.ts";
import type { LogPlace } from "./audit-record.ts";

export type VerifyReport = {
  readonly verdict: Verdict;
  /** When the first record was made; undefined when there is none. */
  readonly since: string | undefined;
  /** The last signed checkpoint that was met, and when the record was made that it is of. */
  readonly checkpoint: { readonly seq: number; readonly keyVersion: number; readonly at: string } | undefined;
};

export type VerifyWish = {
  readonly place: LogPlace;
  readonly signal: AbortSignal;
  readonly onProgress: (records: number) => void;
};

/** Checks a whole log in this browser: the server's word is taken for nothing but the keys it signs with. */
export async function verifyLog({ place, signal, onProgress }: VerifyWish): Promise<VerifyReport> {
  const { body } = await ask<AuditKeys>("/api/secrets/audit/keys", { signal });
  const response = await fetch(`${logPath(place)}/export`, {
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!response.ok || response.body === null)
    throw new KeepProblem(response.status, { title: "The log cannot be fetched", code: "unavailable" });
  const seen = new Notes(onProgress);
  const verdict = await verifyChain(seen.listen(linesOf(response.body)), {
    keys: body.keys satisfies readonly CheckpointKey[],
  });
  return { verdict, since: seen.since, checkpoint: seen.checkpoint };
}

/** Signatures are checked by the browser itself, which not every one can, and none on an unsafe page. */
export async function canVerify(): Promise<boolean> {
  try {
    await crypto.subtle.generateKey("Ed25519", false, ["sign", "verify"]);
    return true;
  } catch {
    return false;
  }
}

const progressEvery = 500;

/** What is worth telling, noted while the lines pass by on their way to the check. */
class Notes {
  readonly #onProgress: (records: number) => void;
  #records = 0;
  #lastAt = "";
  since: string | undefined;
  checkpoint: VerifyReport["checkpoint"];

  constructor(onProgress: (records: number) => void) {
    this.#onProgress = onProgress;
  }

  async *listen(lines: AsyncIterable<string>): AsyncGenerator<string> {
    for await (const line of lines) {
      this.#note(line);
      yield line;
    }
    this.#onProgress(this.#records);
  }

  #note(text: string): void {
    const line = readExportLine(text);
    if (line?.type === "link") {
      this.since ??= line.at;
      this.#lastAt = line.at;
      this.#records += 1;
      if (this.#records % progressEvery === 0) this.#onProgress(this.#records);
    }
    if (line?.type === "checkpoint")
      this.checkpoint = { seq: line.seq, keyVersion: line.key_version, at: this.#lastAt };
  }
}

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  // A line without an end was cut off; the check says so.
  if (rest !== "") yield rest;
}
