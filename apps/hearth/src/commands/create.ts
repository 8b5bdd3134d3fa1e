import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import type { CommandFailure } from "../failures.ts";
import { createWhole, type ModelOrder } from "../models/creating/create-model.ts";
import { parseModelfile } from "../models/creating/parse-modelfile.ts";
import { modelFailure } from "../models/model-failure.ts";
import { displayModelName, parseModelName } from "../models/model-name.ts";
import { openStores } from "../models/open-stores.ts";

export type CreatePlan = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly from?: string;
  /** What says more than a file can; one of the two. */
  readonly modelfile?: string;
  /** The folder of the store. */
  readonly models: string;
};

const mostModelfileBytes = 16 * 1024 * 1024;

/** Puts a model into the store under a name. Works without a server; a running one sees the model at once. */
export async function create(plan: CreatePlan, print: (line: string) => void): Promise<void> {
  const { name, from, modelfile, models } = plan;
  if ((from === undefined) === (modelfile === undefined)) throw modelFailure({ kind: "model-of-nothing" });
  const title = displayModelName(parseModelName(name));
  if (modelfile !== undefined) {
    await createWhole(await openStores(models), { name, ...(await readOrder(modelfile)) });
    print(`Created ${title}`);
    return;
  }
  const bytes = await requireFile(from ?? "");
  const origin = { kind: "files", paths: [from ?? ""] } as const;
  await createWhole(await openStores(models), { name, origin });
  print(`Created ${title} from ${(bytes / 1e6).toFixed(0)} MB`);
}

async function readOrder(file: string): Promise<Omit<ModelOrder, "name">> {
  const bytes = await requireFile(file);
  if (bytes > mostModelfileBytes) {
    const reason = `it is longer than ${mostModelfileBytes} bytes`;
    throw new FailureError<CommandFailure>({ kind: "modelfile-invalid", line: 1, reason });
  }
  const { from, adapters, extras } = parseModelfile(await readFile(file, "utf8"));
  const folder = dirname(resolve(file));
  return {
    origin: await readOrigin(folder, from),
    extras,
    ...(adapters.length === 0 ? {} : { adapters: await filesIn(folder, adapters) }),
  };
}

/** One name that is no file is another model's. */
async function readOrigin(folder: string, from: readonly string[]): Promise<ModelOrder["origin"]> {
  const [name = "", ...others] = from;
  const isPath = /^[./~]|\.gguf$/iu.test(name) || (await sizeOf(placeIn(folder, name))) !== undefined;
  return isPath || others.length > 0 ? filesIn(folder, from) : { kind: "model", name };
}

async function filesIn(folder: string, places: readonly string[]) {
  const paths = places.map((place) => placeIn(folder, place));
  await Promise.all(paths.map(requireFile));
  return { kind: "files", paths } as const;
}

/** Paths in a Modelfile start from where it lies. */
function placeIn(folder: string, place: string): string {
  return resolve(folder, place.replace(/^~(?=\/)/u, homedir()));
}

async function requireFile(file: string): Promise<number> {
  const bytes = await sizeOf(file);
  if (bytes === undefined) throw fileMissing(file);
  return bytes;
}

async function sizeOf(file: string): Promise<number | undefined> {
  const status = await stat(file).catch(() => undefined);
  return status?.isFile() === true ? status.size : undefined;
}

function fileMissing(file: string): Error {
  return new FailureError<CommandFailure>({ kind: "file-missing", file });
}
