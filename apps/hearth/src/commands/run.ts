import { readFile } from "node:fs/promises";
import { errorScreen, screen } from "@hearth-and-keep/terminal";
import { callFailure, hasErrorCode } from "../server-client/call-failure.ts";
import { type GenerationStats, type ModelInfo, showModel } from "../server-client/response-types.ts";
import { openServerClient, type ServerClient, type ServerFlags } from "../server-client/server-client.ts";
import { showResponse } from "../terminal/response-view.ts";
import { chat } from "./chat.ts";
import type { DefineCommand } from "./command-entry.ts";
import { type Conversation, formatStats, loadModel, sendMessage } from "./conversation.ts";
import { ensureServer } from "./ensure-server.ts";
import { extractImages, readImages } from "./prompt-images.ts";
import { readStdin } from "./read-stdin.ts";
import { addServerFlags } from "./server-flags.ts";
import { abortOnInterrupt, transferModel } from "./transfer-model.ts";

type RunFlags = ServerFlags & {
  readonly system?: string;
  readonly format?: string;
  readonly think?: boolean | string;
  readonly hidethinking?: boolean;
  readonly verbose?: boolean;
  readonly keepalive?: string;
  readonly image?: readonly string[];
  readonly nowordwrap?: boolean;
  readonly insecure?: boolean;
};

export const define: DefineCommand = (command) => {
  const parseOptions = command.parseOptions.bind(command);
  command.parseOptions = (args) => parseOptions(normalizeThinkFlag(args));
  addServerFlags(
    command
      .argument("<model>", "model name; pulled first if it is not installed")
      .argument("[prompt...]", "prompt to send; without one and without piped input, starts a chat")
      .option("--system <text>", "system prompt")
      .option("--format <json|file>", "respond in JSON, or according to the JSON Schema in a file")
      .option("--think [level]", "enable thinking: true, false, low, medium or high")
      .option("--hidethinking", "hide the thinking")
      .option("--verbose", "show the thinking, and timings after each response")
      .option(
        "--keepalive <time>",
        "how long the model stays loaded afterwards, e.g. 30s, 5m, or -1 for ever",
      )
      .option(
        "--image <file>",
        "image to send with the prompt, for models that support images; repeatable",
        (file: string, files: readonly string[] | undefined) => [...(files ?? []), file],
      )
      .option("--nowordwrap", "print responses unformatted: no Markdown rendering, no word wrap")
      .option("--insecure", "if the model is pulled: use plain HTTP for a private registry")
      .addHelpText(
        "after",
        [
          "",
          "Examples:",
          "  hearth run qwen3:0.6b                                    start a chat",
          '  hearth run qwen3:0.6b "Why is the sky blue?"             get one response',
          '  cat notes.txt | hearth run qwen3:0.6b "Summarise this"   ask about a file',
          '  hearth run qwen3:0.6b ""                                 only load the model',
        ].join("\n"),
      ),
  ).action(run);
};

async function run(model: string, promptArguments: readonly string[], flags: RunFlags): Promise<void> {
  await using server = await openServerClient(flags);
  const piped = process.stdin.isTTY ? "" : await readStdin();
  const prompt = [piped.trimEnd(), promptArguments.join(" ")].filter((text) => text !== "").join("\n\n");
  const isChat = prompt === "" && process.stdin.isTTY && screen.isTerminal;
  // As in Ollama, an explicit empty prompt only loads the model.
  const isLoadOnly = prompt === "" && promptArguments.length > 0;
  if (prompt === "" && !isChat && !isLoadOnly)
    throw callFailure({ kind: "not-a-terminal", command: `hearth run ${model}` });
  await ensureServer(server);
  const conversation = await startConversation(server, model, flags);
  if (isLoadOnly) await loadOnly(server, conversation);
  else if (isChat) await chat(server, conversation);
  else await respondOnce(server, conversation, prompt);
}

async function startConversation(
  server: ServerClient,
  model: string,
  flags: RunFlags,
): Promise<Conversation> {
  const conversation: Conversation = {
    model,
    modelInfo: await showOrPull(server, model, flags.insecure === true),
    system: flags.system,
    parameters: {},
    messages: [],
    images: [],
    think: parseThink(flags.think),
    thinkingView: flags.hidethinking === true ? "hidden" : flags.verbose === true ? "shown" : "folded",
    format: await readFormat(flags.format),
    keepAlive: flags.keepalive,
    isVerbose: flags.verbose === true,
    rendersMarkdown: flags.nowordwrap !== true,
  };
  return { ...conversation, images: await readImages(flags.image ?? [], conversation) };
}

async function showOrPull(server: ServerClient, model: string, isInsecure: boolean): Promise<ModelInfo> {
  try {
    return await showModel(server, model);
  } catch (error) {
    if (!hasErrorCode(error, "model-not-found")) throw error;
    await transferModel(server, { direction: "pull", model, isInsecure }, errorScreen);
    return await showModel(server, model);
  }
}

const thinkValues = new Set(["true", "false", "low", "medium", "high"]);

/** `--think` consumes the next argument only if it is a valid value; otherwise that argument is part of the prompt. */
function normalizeThinkFlag(args: readonly string[]): string[] {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  return args.flatMap((argument, index) => {
    const isThinkFlag = index < end && argument === "--think";
    if (isThinkFlag) return `--think=${thinkValues.has(args[index + 1] ?? "") ? args[index + 1] : "true"}`;
    return args[index - 1] === "--think" && index < end && thinkValues.has(argument) ? [] : argument;
  });
}

function parseThink(value: boolean | string | undefined): boolean | string | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  if (value === "true" || value === "false") return value === "true";
  if (thinkValues.has(value)) return value;
  const message = `Invalid --think "${value}": use true, false, low, medium or high`;
  throw callFailure({ kind: "usage-error", message });
}

const maxSchemaCharacters = 1_000_000;

async function readFormat(value: string | undefined): Promise<unknown> {
  if (value === undefined || value === "json") return value;
  const text = value.trimStart().startsWith("{") ? value : await readFile(value, "utf8").catch(() => "");
  try {
    return JSON.parse(text.slice(0, maxSchemaCharacters));
  } catch {
    const message = `Invalid --format "${value}": use json, or a file that contains a JSON Schema`;
    throw callFailure({ kind: "usage-error", message });
  }
}

async function loadOnly(server: ServerClient, conversation: Conversation): Promise<void> {
  using interrupt = abortOnInterrupt();
  try {
    await loadModel(conversation, { server, signal: interrupt.signal, screen: errorScreen });
  } catch (error) {
    throw interrupt.signal.aborted ? callFailure({ kind: "interrupted", messages: ["Interrupted"] }) : error;
  }
}

async function respondOnce(server: ServerClient, conversation: Conversation, prompt: string): Promise<void> {
  const message = await extractImages(prompt, conversation);
  using interrupt = abortOnInterrupt();
  let stats: GenerationStats = {};
  const onDone = (final: GenerationStats): void => void (stats = final);
  const chunks = sendMessage(conversation, message, { server, signal: interrupt.signal, onDone });
  try {
    const { thinkingView, rendersMarkdown } = conversation;
    await showResponse(chunks, {
      screen,
      thinkingView,
      rendersMarkdown,
      waitingLabel: "Processing the prompt",
    });
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    throw callFailure({ kind: "interrupted", messages: ["Interrupted"] });
  }
  if (conversation.isVerbose) errorScreen.writeLine(errorScreen.style("dim", formatStats(stats)));
}
