import { ownFiles } from "../server-client/app-paths.ts";
import { CallError } from "../server-client/call-failure.ts";
import type { ServerCaller } from "../server-client/call-server.ts";
import type { AnswerEnd } from "../server-client/response-types.ts";
import { showAnswer } from "../terminal/answer-view.ts";
import { explainCall } from "../terminal/format-error.ts";
import { openPromptLine, type PromptLine } from "../terminal/prompt-line.ts";
import { screen } from "../terminal/screen.ts";
import { wrapTo } from "../terminal/text-width.ts";
import { makeSafe } from "../terminal/untrusted-text.ts";
import { showWaiting } from "../terminal/waiting-bar.ts";
import { type Conversation, loadModel, say, tellEnd } from "./conversation.ts";
import { findImages } from "./prompt-images.ts";
import { obey } from "./slash-commands.ts";

const quotes = '"""';
/** What can be of several lines, from one mark to the next: a message, and a system text. */
const quoted = /^\s*(?:\/set\s+system\s+)?"""/u;
const mostShownTurns = 2;
const mostShownLines = 6;

/** Talks with a person until they leave. */
export async function chat(server: ServerCaller, conversation: Conversation): Promise<void> {
  using line = openPromptLine(ownFiles().history);
  await load(server, conversation, line);
  showEarlier(conversation);
  screen.line(screen.style("dim", "/? tells what can be typed, /bye leaves"));
  const pictures = conversation.images.length;
  if (pictures > 0) {
    const told = pictures === 1 ? "The picture goes" : `The ${pictures} pictures go`;
    screen.line(screen.style("dim", `${told} with the first question`));
  }
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
    if (outcome === "load") {
      await load(server, conversation, line);
      showEarlier(conversation);
    }
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

/** What begins with three quotes goes on over lines, until three more. A command keeps its quotes. */
async function readWhole(first: string, line: PromptLine): Promise<string> {
  const start = quoted.exec(first)?.[0].length;
  if (start === undefined) return first;
  const head = first.slice(0, start);
  let text = first.slice(start);
  while (!text.trimEnd().endsWith(quotes)) {
    const typed = await line.read("... ");
    if (typed.kind !== "text") return "";
    text += `\n${typed.text}`;
  }
  const inside = text.trimEnd().slice(0, -quotes.length).replace(/^\n/u, "");
  return head.trim() === quotes ? inside : head + inside + quotes;
}

/** The end of the chat that a model was saved with, so that one sees where it goes on. */
function showEarlier({ shown: { messages = [] } }: Conversation): void {
  const turns = messages.filter(({ role }) => role !== "system");
  const hidden = turns.length - mostShownTurns;
  if (hidden > 0) screen.line(screen.style("dim", `(${hidden} earlier messages)`));
  for (const { role, content } of turns.slice(-mostShownTurns)) {
    const text = makeSafe(role === "user" ? `>>> ${content}` : content);
    const lines = wrapTo(text, screen.columns() - 1);
    for (const each of lines.slice(0, mostShownLines)) screen.line(screen.style("dim", each));
    if (lines.length > mostShownLines) screen.line(screen.style("dim", "…"));
  }
  if (turns.length > 0) screen.line();
}

/** Ctrl-C while it loads leaves the model to itself. */
async function load(server: ServerCaller, conversation: Conversation, line: PromptLine): Promise<void> {
  const stop = new AbortController();
  using stack = new DisposableStack();
  stack.use(line.watchInterrupt(() => stop.abort()));
  stack.use(showWaiting(screen, `Loading ${conversation.model}`));
  try {
    await loadModel(server, conversation, stop.signal);
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
    const { thinkingView, wrapsWords, model } = conversation;
    try {
      await showAnswer(pieces, { screen, thinkingView, wrapsWords, waitingWords: `${model} is reading` });
    } catch (problem) {
      if (!stop.signal.aborted) throw problem;
      screen.line(screen.style("dim", "(stopped)"));
    }
  }
  if (conversation.isVerbose && end !== undefined) screen.line(screen.style("dim", tellEnd(end)));
  screen.line();
}
