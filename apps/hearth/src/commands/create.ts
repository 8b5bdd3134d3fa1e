import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { Option } from "commander";
import { readStoreConfig, storeSettings } from "../config.ts";
import type { CommandFailure } from "../failures.ts";
import { createWhole, type ModelOrder } from "../models/create/create-model.ts";
import { parseModelfile } from "../models/create/parse-modelfile.ts";
import { modelFailure } from "../models/model-failure.ts";
import { displayModelName, parseModelName } from "../models/model-name.ts";
import { openStores } from "../models/open-stores.ts";
import { isAnswering } from "../server-client/background-server.ts";
import { callFailure } from "../server-client/call-failure.ts";
import { openServer, type ServerFlags } from "../server-client/call-server.ts";
import { screen } from "../terminal/screen.ts";
import { openTransferProgress } from "../terminal/transfer-progress.ts";
import type { Define } from "./command-row.ts";
import { createOnServer } from "./create-on-server.ts";
import { addServerFlags } from "./server-flags.ts";
import { readStandardInput } from "./standard-input.ts";

type CreatePlan = {
  readonly name: string;
  /** A GGUF file, or the first part of a split one. */
  readonly from?: string;
  /** What says more than a file can; one of the two. */
  readonly modelfile?: string;
};

const mostModelfileBytes = 16 * 1024 * 1024;
const usualModelfile = "Modelfile";

type CreateFlags = ServerFlags & {
  readonly from?: string;
  readonly file?: string;
  readonly models?: string;
  readonly quantize?: string;
};

export const define: Define = (command) => {
  addServerFlags(
    command
      .argument("<name>", "what to call it, as in model or model:tag")
      .option("--from <file>", "a GGUF file, or the first part of a split one")
      .option(
        "-f, --file <Modelfile>",
        "a Modelfile, which says what the model is made of; - reads it from standard input (default: Modelfile in this folder)",
      )
      .addOption(new Option("-q, --quantize <type>").hideHelp())
      .option(
        "--models <folder>",
        `write into this store, without a server (default: ${storeSettings.models.fallbackText})`,
      ),
  ).action(createAsAsked);
};

/** On the server that was named or answers; in the store of this machine when there is none, or a store was named. */
async function createAsAsked(name: string, flags: CreateFlags): Promise<void> {
  if (flags.quantize !== undefined) throw cannotQuantize(flags.quantize);
  const { from } = flags;
  const modelfile =
    flags.file ?? (from === undefined && (await sizeOf(usualModelfile)) ? usualModelfile : undefined);
  const plan = { name, ...(from && { from }), ...(modelfile && { modelfile }) };
  const title = titleOf(plan);
  await using server = await openServer(flags);
  if (flags.models === undefined && (server.isNamed || (await isAnswering(server)))) {
    const progress = openTransferProgress(screen);
    try {
      await createOnServer(server, { name, ...(await readOrder(plan)) }, (step) => progress.take(step));
    } finally {
      progress.end();
    }
  } else {
    const { models } = readStoreConfig({ models: flags.models });
    await createWhole(await openStores(models), { name, ...(await readOrder(plan)) });
  }
  screen.line(`Created ${title}`);
}

function cannotQuantize(type: string): Error {
  const sentence = `Cannot convert weights to "${type}": Hearth runs them as they are stored`;
  const next =
    "hearth pull a model that is stored so, or convert the file with llama-quantize of llama.cpp first";
  return callFailure({ kind: "words-wrong", sentence, next });
}

/** Says at once what is wrong with the words. */
function titleOf({ name, from, modelfile }: CreatePlan): string {
  if ((from === undefined) === (modelfile === undefined)) throw modelFailure({ kind: "model-of-nothing" });
  return displayModelName(parseModelName(name));
}

/** Of what it is to be made, its files found. */
async function readOrder({ from, modelfile }: CreatePlan): Promise<Omit<ModelOrder, "name">> {
  if (modelfile !== undefined) return readModelfile(modelfile);
  await requireFile(from ?? "");
  return { origin: { kind: "files", paths: [from ?? ""] } };
}

async function readModelfile(file: string): Promise<Omit<ModelOrder, "name">> {
  const { from, adapters, extras } = parseModelfile(await readModelfileText(file));
  const folder = file === "-" ? resolve(".") : dirname(resolve(file));
  return {
    origin: await readOrigin(folder, from),
    extras,
    ...(adapters.length === 0 ? {} : { adapters: await filesIn(folder, adapters) }),
  };
}

async function readModelfileText(file: string): Promise<string> {
  if (file === "-") return readStandardInput();
  const bytes = await requireFile(file);
  if (bytes > mostModelfileBytes) {
    const reason = `it is longer than ${mostModelfileBytes} bytes`;
    throw new FailureError<CommandFailure>({ kind: "modelfile-invalid", line: 1, reason });
  }
  return readFile(file, "utf8");
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
