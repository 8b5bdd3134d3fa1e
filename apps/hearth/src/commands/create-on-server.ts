import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { sanitizeLine } from "@hearth-and-keep/terminal";
import type { CreateModelRequest } from "../models/create/create-model.ts";
import { callFailure, hasErrorCode, isCallFailure } from "../server-client/call-failure.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { formatNextStep } from "../terminal/format-error.ts";
import type { ProgressStep } from "../terminal/transfer-progress.ts";

type Report = (step: ProgressStep) => void;

/** Uploads the files that the server does not have yet, then creates the model there. */
export async function createOnServer(
  server: ServerClient,
  { name, source, adapters, extras = {} }: CreateModelRequest,
  report: Report,
): Promise<void> {
  const { licenses, parameters, messages, template, system } = extras;
  const body = {
    model: name,
    ...(source.kind === "model" ? { from: source.name } : {}),
    ...(source.kind === "files"
      ? { files: await uploadAll(server, source.paths.flatMap(expandShards), report) }
      : {}),
    ...(adapters?.kind === "files" ? { adapters: await uploadAll(server, adapters.paths, report) } : {}),
    ...(template === undefined ? {} : { template }),
    ...(system === undefined ? {} : { system }),
    ...(licenses === undefined ? {} : { license: licenses }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(messages === undefined ? {} : { messages }),
  };
  await reportProgress(server.stream("/api/create", body), report);
}

const inputErrors = ["model-file-invalid", "file-dialect-unsupported", "parameter-invalid"] as const;

async function reportProgress(steps: ReturnType<ServerClient["stream"]>, report: Report): Promise<void> {
  try {
    for await (const step of steps) {
      // A progress object of Ollama's /api/create stream.
      report(step as ProgressStep);
    }
  } catch (error) {
    // A bad input, although the status of the stream, sent before it was parsed, says otherwise.
    if (!isCallFailure(error, "error-response") || !hasErrorCode(error, ...inputErrors)) throw error;
    const message = `Cannot use the model file: ${sanitizeLine(error.failure.message)}`;
    const next = formatNextStep({ action: "replace-file" });
    throw callFailure({ kind: "usage-error", message, next }, { cause: error });
  }
}

const maxShards = 1000;

/** A split file is given by its first shard; the names of the others follow from it. */
function expandShards(path: string): readonly string[] {
  const [, head = "", total = "0"] = /^(.*)-00001-of-(\d{5})\.gguf$/iu.exec(path) ?? [];
  const count = Math.min(Number(total), maxShards);
  if (count < 2) return [path];
  return Array.from(
    { length: count },
    (_, shard) => `${head}-${String(shard + 1).padStart(5, "0")}-of-${total}.gguf`,
  );
}

/** Uploads files, and returns their digests by file name. */
async function uploadAll(
  server: ServerClient,
  paths: readonly string[],
  report: Report,
): Promise<Readonly<Record<string, string>>> {
  const digests: Record<string, string> = {};
  for (const path of paths) {
    const name = basename(path);
    report({ status: `reading ${name}` });
    const digest = await hashFile(path);
    digests[name] = digest;
    if (!(await server.hasBlob(digest))) {
      const { size } = await stat(path);
      await server.upload(digest, readWithProgress(path, { name, digest, size, report }));
    }
  }
  return digests;
}

async function hashFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return `sha256:${hash.digest("hex")}`;
}

type Upload = {
  readonly name: string;
  readonly digest: string;
  readonly size: number;
  readonly report: Report;
};

async function* readWithProgress(
  path: string,
  { name, digest, size, report }: Upload,
): AsyncGenerator<Uint8Array> {
  let completed = 0;
  // Reporting 0 first keeps the progress bar from showing a resumed transfer.
  report({ status: `uploading ${name}`, digest, total: size, completed });
  for await (const chunk of createReadStream(path)) {
    yield chunk;
    completed += chunk.length;
    report({ status: `uploading ${name}`, digest, total: size, completed });
  }
}
