import { readFile } from "node:fs/promises";
import { isAnswering, startBackgroundServer } from "../server-client/background-server.ts";
import { callFailure, isCallFailure } from "../server-client/call-failure.ts";
import { openServer, type ServerCaller, type ServerFlags } from "../server-client/call-server.ts";
import { type AnswerEnd, type ShownModel, showModel } from "../server-client/response-types.ts";
import { showAnswer } from "../terminal/answer-view.ts";
import { tellSentence } from "../terminal/report-error.ts";
import { errorScreen, screen } from "../terminal/screen.ts";
import { showWaiting } from "../terminal/waiting-bar.ts";
import { chat } from "./chat.ts";
import type { Define } from "./command-row.ts";
import { type Conversation, loadModel, say, tellEnd } from "./conversation.ts";
import { moveModel, watchInterrupt } from "./move-model.ts";
import { findImages, readImages } from "./prompt-images.ts";
import { addServerFlags } from "./server-flags.ts";
import { readStandardInput } from "./standard-input.ts";

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

export const define: Define = (command) => {
  const parseOptions = command.parseOptions.bind(command);
  command.parseOptions = (words) => parseOptions(settleThink(words));
  addServerFlags(
    command
      .argument("<model>", "its name; one that is not here is pulled first")
      .argument("[prompt...]", "one question; without it, and with nothing piped in, this is a chat")
      .option("--system <text>", "what the model is told before everything else")
      .option("--format <json|file>", "answer in JSON, or after the JSON Schema in a file")
      .option("--think [level]", "think first: true, false, low, medium or high")
      .option("--hidethinking", "do not show that it thinks")
      .option("--verbose", "show the thinking, and tokens per second after each answer")
      .option(
        "--keepalive <time>",
        "how long the model stays in memory afterwards, as 30s, 5m or -1 for ever",
      )
      .option(
        "--image <file>",
        "a picture for the question, where the model sees; may be said again",
        (file: string, files: readonly string[] | undefined) => [...(files ?? []), file],
      )
      .option("--nowordwrap", "show answers as the model writes them, neither drawn nor broken between words")
      .option("--insecure", "when it is pulled first: speak plain http to a private registry")
      .addHelpText(
        "after",
        [
          "",
          "Examples:",
          "  hearth run qwen3:0.6b                                    a chat",
          '  hearth run qwen3:0.6b "Why is the sky blue?"             one answer',
          '  cat notes.txt | hearth run qwen3:0.6b "Summarise this"   about a file',
          '  hearth run qwen3:0.6b ""                                 only load it',
        ].join("\n"),
      ),
  ).action(run);
};

async function run(model: string, words: readonly string[], flags: RunFlags): Promise<void> {
  await using server = await openServer(flags);
  const piped = process.stdin.isTTY ? "" : await readStandardInput();
  const prompt = [piped.trimEnd(), words.join(" ")].filter((part) => part !== "").join("\n\n");
  const isChat = prompt === "" && process.stdin.isTTY && screen.isTerminal;
  // Nothing is asked on purpose, which in this family means that the model is to be in memory.
  const isLoadOnly = prompt === "" && words.length > 0;
  if (prompt === "" && !isChat && !isLoadOnly)
    throw callFailure({ kind: "terminal-missing", command: `hearth run ${model}` });
  await requireServer(server);
  const conversation = await begin(server, model, flags);
  if (isLoadOnly) await loadOnly(server, conversation);
  else if (isChat) await chat(server, conversation);
  else await answerOnce(server, conversation, prompt);
}

/** Starts one on this machine when none answers there, and says so. */
async function requireServer(server: ServerCaller): Promise<void> {
  if (!server.address.isLocal || (await isAnswering(server))) return;
  using waiting = showWaiting(errorScreen, "Starting the server");
  const outcome = await startBackgroundServer(server);
  waiting[Symbol.dispose]();
  const { url } = server.address;
  tellSentence(
    outcome === "found"
      ? `Another command has just started a server at ${url}; this one uses it`
      : `Started a server at ${url}; it stays: hearth stop --server ends it, hearth logs shows its log`,
  );
}

async function begin(server: ServerCaller, model: string, flags: RunFlags): Promise<Conversation> {
  const shown = await showOrPull(server, model, flags.insecure === true);
  const conversation: Conversation = {
    model,
    shown,
    system: flags.system,
    parameters: {},
    messages: [],
    images: [],
    think: readThink(flags.think),
    thinkingView: flags.hidethinking === true ? "hidden" : flags.verbose === true ? "shown" : "folded",
    format: await readFormat(flags.format),
    keepAlive: flags.keepalive,
    isVerbose: flags.verbose === true,
    wrapsWords: flags.nowordwrap !== true,
  };
  return { ...conversation, images: await readImages(flags.image ?? [], conversation) };
}

async function showOrPull(server: ServerCaller, model: string, isInsecure: boolean): Promise<ShownModel> {
  try {
    return await showModel(server, model);
  } catch (problem) {
    if (!isCallFailure(problem, "server-model-missing")) throw problem;
    await moveModel(server, { direction: "pull", model, isInsecure }, errorScreen);
    return await showModel(server, model);
  }
}

const thinkWords = new Set(["true", "false", "low", "medium", "high"]);

/** The next word is what --think is set to only when it can be; otherwise it belongs to the question. */
function settleThink(words: readonly string[]): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  return words.flatMap((word, index) => {
    const isSaid = index < end && word === "--think";
    if (isSaid) return `--think=${thinkWords.has(words[index + 1] ?? "") ? words[index + 1] : "true"}`;
    return words[index - 1] === "--think" && index < end && thinkWords.has(word) ? [] : word;
  });
}

function readThink(wish: boolean | string | undefined): boolean | string | undefined {
  if (wish === undefined || typeof wish === "boolean") return wish;
  if (wish === "true" || wish === "false") return wish === "true";
  if (thinkWords.has(wish)) return wish;
  const sentence = `Cannot use --think "${wish}": it is true, false, low, medium or high`;
  throw callFailure({ kind: "words-wrong", sentence });
}

const mostSchemaCharacters = 1_000_000;

async function readFormat(wish: string | undefined): Promise<unknown> {
  if (wish === undefined || wish === "json") return wish;
  const text = wish.trimStart().startsWith("{") ? wish : await readFile(wish, "utf8").catch(() => "");
  try {
    return JSON.parse(text.slice(0, mostSchemaCharacters));
  } catch {
    const sentence = `Cannot use --format "${wish}": it is neither json nor a file with a JSON Schema`;
    throw callFailure({ kind: "words-wrong", sentence });
  }
}

async function loadOnly(server: ServerCaller, conversation: Conversation): Promise<void> {
  using stack = new DisposableStack();
  const interrupt = stack.use(watchInterrupt());
  stack.use(showWaiting(errorScreen, `Loading ${conversation.model}`));
  try {
    await loadModel(server, conversation, interrupt.signal);
  } catch (problem) {
    throw interrupt.signal.aborted ? callFailure({ kind: "interrupted", sentences: ["Stopped"] }) : problem;
  }
}

async function answerOnce(server: ServerCaller, conversation: Conversation, prompt: string): Promise<void> {
  const said = await findImages(prompt, conversation);
  using interrupt = watchInterrupt();
  let end: AnswerEnd = {};
  const onEnd = (last: AnswerEnd): void => void (end = last);
  const pieces = say(conversation, said, { server, signal: interrupt.signal, onEnd });
  try {
    const { thinkingView, wrapsWords } = conversation;
    await showAnswer(pieces, {
      screen,
      thinkingView,
      wrapsWords,
      waitingWords: `${conversation.model} is reading`,
    });
  } catch (problem) {
    if (!interrupt.signal.aborted) throw problem;
    throw callFailure({ kind: "interrupted", sentences: ["Stopped"] });
  }
  if (conversation.isVerbose) errorScreen.line(errorScreen.style("dim", tellEnd(end)));
}
