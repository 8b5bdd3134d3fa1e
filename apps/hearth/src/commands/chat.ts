import { CallError } from "../calling/call-failure.ts";
import type { ServerCaller } from "../calling/call-server.ts";
import { ownFiles } from "../calling/own-files.ts";
import type { AnswerEnd } from "../calling/server-answers.ts";
import { showAnswer } from "../terminal/answer-view.ts";
import { explainCall } from "../terminal/explain.ts";
import { openPromptLine, type PromptLine } from "../terminal/prompt-line.ts";
import { screen } from "../terminal/screen.ts";
import { wrapTo } from "../terminal/text-width.ts";
import { showWaiting } from "../terminal/waiting-bar.ts";
import { obey } from "./chat-words.ts";
import { type Conversation, say, tellEnd } from "./conversation.ts";
import { findImages } from "./prompt-images.ts";

const quotes = '"""';

/** Talks with a person until they leave. */
export async function chat(server: ServerCaller, conversation: Conversation): Promise<void> {
  const line = openPromptLine(ownFiles().history);
  await load(server, conversation, line);
  screen.line(screen.style("dim", "/? tells what can be typed, /bye leaves"));
  for (let hasInterrupted = false; ; ) {
    const typed = await line.read(">>> ");
    if (typed.kind === "end" || (typed.kind === "interrupt" && typed.isEmpty && hasInterrupted)) {
      if (typed.kind === "end") screen.line();
      return;
    }
    hasInterrupted = typed.kind === "interrupt" && typed.isEmpty;
    if (hasInterrupted) screen.line(screen.style("dim", "Ctrl-C once more, or Ctrl-D, leaves"));
    const text = typed.kind === "text" ? await readWhole(typed.text, line) : "";
    if (text.trim() === "") continue;
    if (!(await answer(text, { server, conversation, line }))) return;
  }
}

type ChatParts = {
  readonly server: ServerCaller;
  readonly conversation: Conversation;
  readonly line: PromptLine;
};

/** False when the person leaves. A failure is told, and the chat goes on. */
async function answer(text: string, { server, conversation, line }: ChatParts): Promise<boolean> {
  line.remember(text);
  try {
    if (!text.startsWith("/") || /^\/[^\s/]+\//u.test(text)) {
      await speak(text, { server, conversation, line });
      return true;
    }
    const outcome = await obey(text, { server, conversation, line });
    if (outcome === "load") await load(server, conversation, line);
    return outcome !== "leave";
  } catch (problem) {
    if (!(problem instanceof CallError)) throw problem;
    for (const told of explainCall(problem.failure).sentences.flatMap(wrap)) screen.line(told);
    return true;
  }
}

function wrap(sentence: string): readonly string[] {
  return wrapTo(screen.style("yellow", sentence), screen.columns() - 1);
}

/** What begins with three quotes goes on over lines, until three more. */
async function readWhole(first: string, line: PromptLine): Promise<string> {
  const begun = first.trimStart();
  if (!begun.startsWith(quotes)) return first;
  let text = begun.slice(quotes.length);
  while (!text.trimEnd().endsWith(quotes)) {
    const typed = await line.read("... ");
    if (typed.kind !== "text") return "";
    text += `\n${typed.text}`;
  }
  return text.trimEnd().slice(0, -quotes.length).replace(/^\n/u, "");
}

/** Ctrl-C while it loads leaves the model to itself. */
async function load(
  server: ServerCaller,
  { model, keepAlive }: Conversation,
  line: PromptLine,
): Promise<void> {
  const stop = new AbortController();
  using stack = new DisposableStack();
  stack.use(line.watchInterrupt(() => stop.abort()));
  stack.use(showWaiting(screen, `Loading ${model}`));
  const body = { model, stream: false, ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }) };
  try {
    await server.ask("/api/generate", body, { idleSeconds: 3600, signal: stop.signal });
  } catch (problem) {
    if (!stop.signal.aborted) throw problem;
  }
}

/** Ctrl-C ends the answer, not the chat. */
async function speak(text: string, { server, conversation, line }: ChatParts): Promise<void> {
  const said = await findImages(text, conversation);
  const stop = new AbortController();
  let end: AnswerEnd | undefined;
  const onEnd = (last: AnswerEnd): void => void (end = last);
  {
    using stack = new DisposableStack();
    stack.use(line.watchInterrupt(() => stop.abort()));
    const pieces = say(conversation, said, { server, signal: stop.signal, onEnd });
    const { thinkingView, model } = conversation;
    try {
      await showAnswer(pieces, { screen, thinkingView, waitingWords: `${model} is reading` });
    } catch (problem) {
      if (!stop.signal.aborted) throw problem;
      screen.line(screen.style("dim", "(stopped)"));
    }
  }
  if (conversation.isVerbose && end !== undefined) screen.line(screen.style("dim", tellEnd(end)));
  screen.line();
}
