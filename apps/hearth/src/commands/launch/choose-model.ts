import { createInterface } from "node:readline/promises";
import { errorScreen, sanitizeLine } from "@hearth-and-keep/terminal";
import { CallError, callFailure } from "../../server-client/call-failure.ts";
import { listModels, type ModelInfo, showModel } from "../../server-client/response-types.ts";
import type { ServerClient } from "../../server-client/server-client.ts";

/** The model of an agent. */
export type AgentModel = {
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly contextTokens: number | undefined;
};

type ChooseOptions = { readonly model?: string; readonly force?: boolean; readonly title: string };

const maxShownModels = 30;

/** The requested model, the only one that can call tools, or the one that the user picks from a list. */
export async function chooseModel(
  server: ServerClient,
  { model, force = false, title }: ChooseOptions,
): Promise<AgentModel> {
  const name = model ?? (await findModel(server, title));
  const modelInfo = await showModel(server, name);
  const { capabilities = [] } = modelInfo;
  if (!force && !capabilities.includes("tools")) {
    const message = `Model "${name}" cannot call tools, which ${title} needs`;
    const next = "use another model with --model, or start it anyway with --force";
    throw callFailure({ kind: "usage-error", message, next });
  }
  return { name, capabilities, contextTokens: await findContext(server, name, modelInfo) };
}

async function findModel(server: ServerClient, title: string): Promise<string> {
  const byDigest = new Map<string, string>();
  for (const { name, digest, capabilities = [], runs_on: location } of await listModels(server)) {
    // Prompts leave the operator's network only if the user names the model.
    if (location === "remote") continue;
    // Several names of one model are one choice.
    if (capabilities.includes("tools") && !byDigest.has(digest)) byDigest.set(digest, name);
  }
  const [first, ...others] = byDigest.values();
  if (first === undefined) {
    const message = `No model on the server can call tools, which ${title} needs`;
    throw callFailure({ kind: "usage-error", message, next: 'download one, e.g. "hearth pull qwen3:8b"' });
  }
  return others.length === 0 ? first : pickModel([first, ...others]);
}

async function pickModel(names: readonly string[]): Promise<string> {
  const shown = names.slice(0, maxShownModels).map(sanitizeLine);
  if (!process.stdin.isTTY || !errorScreen.isTerminal) {
    const message = `Several models can call tools: ${shown.join(", ")}`;
    throw callFailure({ kind: "usage-error", message, next: "choose one with --model" });
  }
  for (const [index, name] of shown.entries()) errorScreen.writeLine(`${index + 1}. ${name}`);
  const controller = new AbortController();
  using reader = createInterface({ input: process.stdin, output: process.stderr });
  reader.on("SIGINT", () => controller.abort()).on("close", () => controller.abort());
  try {
    for (;;) {
      const { signal } = controller;
      const text = (await reader.question(`Model (1-${shown.length}) [1]: `, { signal })).trim();
      const picked = names[Number(text || "1") - 1] ?? names.find((name) => name === text);
      if (picked !== undefined) return picked;
    }
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    throw callFailure({ kind: "interrupted", messages: ["Interrupted"] });
  }
}

/** Hearth reports the context in its list of models, others only in the model's information. */
async function findContext(
  server: ServerClient,
  name: string,
  { parameters = "", model_info: metadata = {} }: ModelInfo,
): Promise<number | undefined> {
  const setContext = Number(/^num_ctx\s+(\d+)$/mu.exec(parameters)?.[1] ?? Number.NaN);
  const trained = metadata[`${String(metadata["general.architecture"])}.context_length`];
  const candidates = [await listedContext(server, name), setContext, trained];
  return candidates.find((value): value is number => Number.isSafeInteger(value) && Number(value) > 0);
}

async function listedContext(server: ServerClient, name: string): Promise<unknown> {
  try {
    const response = await server.request(`/v1/models/${encodeURIComponent(name)}`);
    // OpenAI's response, with a field that local servers add.
    return (response as { readonly context_length?: unknown }).context_length;
  } catch (error) {
    if (error instanceof CallError) return undefined;
    throw error;
  }
}
