import { readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { FailureError } from "@hearth-and-keep/failures";
import { screen } from "@hearth-and-keep/terminal";
import { Option } from "commander";
import { readStoreConfig, storeSettings } from "../config.ts";
import type { CommandFailure } from "../failures.ts";
import { type CreateModelRequest, createModelAndWait } from "../models/create/create-model.ts";
import { parseModelfile } from "../models/create/parse-modelfile.ts";
import { modelFailure } from "../models/model-failure.ts";
import { displayModelName, parseModelName } from "../models/model-name.ts";
import { openStores } from "../models/open-stores.ts";
import { isReachable } from "../server-client/background-server.ts";
import { callFailure } from "../server-client/call-failure.ts";
import { openServerClient, type ServerFlags } from "../server-client/server-client.ts";
import { openTransferProgress } from "../terminal/transfer-progress.ts";
import type { DefineCommand } from "./command-entry.ts";
import { createOnServer } from "./create-on-server.ts";
import { readStdin } from "./read-stdin.ts";
import { addServerFlags } from "./server-flags.ts";

type CreateOptions = {
  readonly name: string;
  /** A GGUF file, or the first shard of a split one. Exactly one of `from` and `modelfile` is given. */
  readonly from?: string;
  readonly modelfile?: string;
};

const maxModelfileBytes = 16 * 1024 * 1024;
const defaultModelfile = "Modelfile";

type CreateFlags = ServerFlags & {
  readonly from?: string;
  readonly file?: string;
  readonly models?: string;
  readonly quantize?: string;
};

export const define: DefineCommand = (command) => {
  addServerFlags(
    command
      .argument("<name>", "name of the new model: NAME or NAME:TAG")
      .option("--from <file>", "GGUF file, or the first shard of a split one")
      .option(
        "-f, --file <Modelfile>",
        "Modelfile to create the model from; - reads standard input (default: Modelfile in this folder)",
      )
      .addOption(new Option("-q, --quantize <type>").hideHelp())
      .option(
        "--models <folder>",
        `write to this model store, without a server (default: ${storeSettings.models.defaultText})`,
      ),
  ).action(createModel);
};

/** Creates the model on the server if one was named or is reachable, else, or with --models, in the local store. */
async function createModel(name: string, flags: CreateFlags): Promise<void> {
  if (flags.quantize !== undefined) throw quantizeUnsupported(flags.quantize);
  const { from } = flags;
  const modelfile =
    flags.file ?? (from === undefined && (await fileSize(defaultModelfile)) ? defaultModelfile : undefined);
  const options = { name, ...(from && { from }), ...(modelfile && { modelfile }) };
  const fullName = validateOptions(options);
  await using server = await openServerClient(flags);
  if (flags.models === undefined && (server.isNamed || (await isReachable(server)))) {
    const progress = openTransferProgress(screen);
    try {
      await createOnServer(server, { name, ...(await readSource(options)) }, (step) => progress.update(step));
    } finally {
      progress.close();
    }
  } else {
    const { models } = readStoreConfig({ models: flags.models });
    await createModelAndWait(await openStores(models), { name, ...(await readSource(options)) });
  }
  screen.writeLine(`Created ${fullName}`);
}

function quantizeUnsupported(type: string): Error {
  const message = `Cannot quantize to "${type}": Hearth does not convert weights`;
  const next = "pull a model in that format, or convert the file with llama.cpp's llama-quantize first";
  return callFailure({ kind: "usage-error", message, next });
}

/** Checks the options before anything is read, and returns the full model name. */
function validateOptions({ name, from, modelfile }: CreateOptions): string {
  if ((from === undefined) === (modelfile === undefined))
    throw modelFailure({ kind: "model-source-missing" });
  return displayModelName(parseModelName(name));
}

/** Resolves and checks the files that the model is created from. */
async function readSource({ from, modelfile }: CreateOptions): Promise<Omit<CreateModelRequest, "name">> {
  if (modelfile !== undefined) return readModelfile(modelfile);
  await requireFile(from ?? "");
  return { source: { kind: "files", paths: [from ?? ""] } };
}

async function readModelfile(file: string): Promise<Omit<CreateModelRequest, "name">> {
  const { from, adapters, extras } = parseModelfile(await readModelfileText(file));
  const folder = file === "-" ? resolve(".") : dirname(resolve(file));
  return {
    source: await resolveSource(folder, from),
    extras,
    ...(adapters.length === 0 ? {} : { adapters: await resolveFiles(folder, adapters) }),
  };
}

async function readModelfileText(file: string): Promise<string> {
  if (file === "-") return readStdin();
  const bytes = await requireFile(file);
  if (bytes > maxModelfileBytes) {
    const reason = `it is larger than ${maxModelfileBytes} bytes`;
    throw new FailureError<CommandFailure>({ kind: "modelfile-invalid", line: 1, reason });
  }
  return readFile(file, "utf8");
}

/** A single FROM that is not a file is the name of another model. */
async function resolveSource(folder: string, from: readonly string[]): Promise<CreateModelRequest["source"]> {
  const [name = "", ...others] = from;
  const isPath = /^[./~]|\.gguf$/iu.test(name) || (await fileSize(resolveFrom(folder, name))) !== undefined;
  return isPath || others.length > 0 ? resolveFiles(folder, from) : { kind: "model", name };
}

async function resolveFiles(folder: string, files: readonly string[]) {
  const paths = files.map((file) => resolveFrom(folder, file));
  await Promise.all(paths.map(requireFile));
  return { kind: "files", paths } as const;
}

/** Paths in a Modelfile are relative to its folder. */
function resolveFrom(folder: string, file: string): string {
  return resolve(folder, file.replace(/^~(?=\/)/u, homedir()));
}

async function requireFile(file: string): Promise<number> {
  const bytes = await fileSize(file);
  if (bytes === undefined) throw fileMissing(file);
  return bytes;
}

async function fileSize(file: string): Promise<number | undefined> {
  const status = await stat(file).catch(() => undefined);
  return status?.isFile() === true ? status.size : undefined;
}

function fileMissing(file: string): Error {
  return new FailureError<CommandFailure>({ kind: "file-missing", file });
}
