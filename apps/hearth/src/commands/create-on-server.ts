import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename } from "node:path";
import type { ModelOrder } from "../models/create/create-model.ts";
import { callFailure, isCallFailure } from "../server-client/call-failure.ts";
import type { ServerCaller } from "../server-client/call-server.ts";
import type { ProgressStep } from "../terminal/transfer-progress.ts";
import { makeSafeLine } from "../terminal/untrusted-text.ts";

type Report = (step: ProgressStep) => void;

/** Uploads the files that the server does not have yet, then has it make the model. */
export async function createOnServer(server: ServerCaller, order: ModelOrder, report: Report): Promise<void> {
  const { name, origin, adapters, extras = {} } = order;
  const { licenses, parameters, messages, template, system } = extras;
  const body = {
    model: name,
    ...(origin.kind === "model" ? { from: origin.name } : {}),
    ...(origin.kind === "files"
      ? { files: await uploadAll(server, origin.paths.flatMap(withOtherParts), report) }
      : {}),
    ...(adapters?.kind === "files" ? { adapters: await uploadAll(server, adapters.paths, report) } : {}),
    ...(template === undefined ? {} : { template }),
    ...(system === undefined ? {} : { system }),
    ...(licenses === undefined ? {} : { license: licenses }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(messages === undefined ? {} : { messages }),
  };
  await followCreation(server.stream("/api/create", body), report);
}

async function followCreation(steps: ReturnType<ServerCaller["stream"]>, report: Report): Promise<void> {
  let last = "";
  try {
    for await (const step of steps) {
      last = String(step["status"]);
      // The shape of the family's progress.
      report(step as ProgressStep);
    }
  } catch (problem) {
    // What is refused while a file is looked at is the file's fault, which the answer's status can tell no more.
    if (last !== "parsing GGUF" || !isCallFailure(problem, "server-refused")) throw problem;
    const text = problem.failure.kind === "server-refused" ? problem.failure.text : "";
    const sentence = `Cannot use the model file: ${makeSafeLine(text)}`;
    const next = "fetch the file again; only GGUF files can be used";
    throw callFailure({ kind: "words-wrong", sentence, next }, { cause: problem });
  }
}

const mostParts = 1000;

/** A split file is named by its first part; the names of the others follow from it. */
function withOtherParts(path: string): readonly string[] {
  const [, head = "", total = "0"] = /^(.*)-00001-of-(\d{5})\.gguf$/iu.exec(path) ?? [];
  const count = Math.min(Number(total), mostParts);
  if (count < 2) return [path];
  return Array.from(
    { length: count },
    (_, part) => `${head}-${String(part + 1).padStart(5, "0")}-of-${total}.gguf`,
  );
}

/** The digest of each file by its name. */
async function uploadAll(
  server: ServerCaller,
  paths: readonly string[],
  report: Report,
): Promise<Readonly<Record<string, string>>> {
  const digests: Record<string, string> = {};
  for (const path of paths) {
    const name = basename(path);
    report({ status: `reading ${name}` });
    const digest = await digestOf(path);
    digests[name] = digest;
    if (!(await server.hasBlob(digest))) {
      const { size } = await stat(path);
      await server.upload(digest, uploadedParts(path, { name, digest, size, report }));
    }
  }
  return digests;
}

async function digestOf(path: string): Promise<string> {
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

async function* uploadedParts(
  path: string,
  { name, digest, size, report }: Upload,
): AsyncGenerator<Uint8Array> {
  let completed = 0;
  // From the beginning, or it would seem to go on from where an earlier one was left.
  report({ status: `uploading ${name}`, digest, total: size, completed });
  for await (const chunk of createReadStream(path)) {
    yield chunk;
    completed += chunk.length;
    report({ status: `uploading ${name}`, digest, total: size, completed });
  }
}
