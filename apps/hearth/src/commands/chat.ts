import { sanitizeText, screen, wrapToWidth } from "@hearth-and-keep/terminal";
import { appPaths } from "../server-client/app-paths.ts";
import { CallError } from "../server-client/call-failure.ts";
import type { GenerationStats } from "../server-client/response-types.ts";
import type { ServerClient } from "../server-client/server-client.ts";
import { formatCallFailure, formatLines } from "../terminal/format-error.ts";
import { type LineEditor, openLineEditor } from "../terminal/line-editor.ts";
import { showResponse } from "../terminal/response-view.ts";
import { type ChatContext, type Conversation, formatStats, loadModel, sendMessage } from "./conversation.ts";
import { extractImages } from "./prompt-images.ts";
import { runSlashCommand } from "./slash-commands.ts";

const tripleQuotes = '"""';
/** A message or a system prompt may span several lines between triple quotes. */
const multilineStart = /^\s*(?:\/set\s+system\s+)?"""/u;
const maxShownMessages = 2;
const maxShownLines = 6;

/** Runs an interactive chat until the user exits. */
export async function chat(server: ServerClient, conversation: Conversation): Promise<void> {
  using editor = openLineEditor(appPaths().history);
  await load({ server, conversation, editor });
  showSavedMessages(conversation);
  screen.writeLine(screen.style("dim", "Type /? for help, /bye to exit"));
  const imageCount = conversation.images.length;
  if (imageCount > 0) {
    const images = imageCount === 1 ? "1 image" : `${imageCount} images`;
    screen.writeLine(screen.style("dim", `${images} will be sent with your first message`));
  }
  for (let hasInterrupted = false; ; ) {
    const input = await editor.read(">>> ");
    if (input.kind === "end" || (input.kind === "interrupt" && input.isEmpty && hasInterrupted)) {
      if (input.kind === "end") screen.writeLine();
      return;
    }
    hasInterrupted = input.kind === "interrupt" && input.isEmpty;
    if (hasInterrupted) screen.writeLine(screen.style("dim", "Press Ctrl-C again or Ctrl-D to exit"));
    const text = input.kind === "text" ? await readMultiline(input.text, editor) : "";
    if (text.trim() === "") continue;
    if (!(await handleInput(text, { server, conversation, editor }))) return;
  }
}

/** Returns false to exit. Failures are printed, and the chat continues. */
async function handleInput(text: string, context: ChatContext): Promise<boolean> {
  context.editor.addToHistory(text);
  try {
    // A path such as /tmp/image.png is part of a message, not a command.
    if (!text.startsWith("/") || /^\/[^\s/]+\//u.test(text)) {
      await streamResponse(text, context);
      return true;
    }
    const result = await runSlashCommand(text, context);
    if (result === "load") {
      await load(context);
      showSavedMessages(context.conversation);
    }
    return result !== "exit";
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    for (const line of formatLines(formatCallFailure(error.failure)).flatMap(wrap)) screen.writeLine(line);
    return true;
  }
}

function wrap(text: string): readonly string[] {
  return wrapToWidth(screen.style("yellow", text), screen.columns() - 1);
}

/** Reads further lines of an input that starts with triple quotes, up to the closing ones. A command keeps its quotes. */
async function readMultiline(first: string, editor: LineEditor): Promise<string> {
  const start = multilineStart.exec(first)?.[0].length;
  if (start === undefined) return first;
  const head = first.slice(0, start);
  let text = first.slice(start);
  while (!text.trimEnd().endsWith(tripleQuotes)) {
    const input = await editor.read("... ");
    if (input.kind !== "text") return "";
    text += `\n${input.text}`;
  }
  const inside = text.trimEnd().slice(0, -tripleQuotes.length).replace(/^\n/u, "");
  return head.trim() === tripleQuotes ? inside : head + inside + tripleQuotes;
}

/** Shows the last messages of the chat that is saved in the model. */
function showSavedMessages({ modelInfo: { messages = [] } }: Conversation): void {
  const visible = messages.filter(({ role }) => role !== "system");
  const hidden = visible.length - maxShownMessages;
  if (hidden > 0) screen.writeLine(screen.style("dim", `(${hidden} earlier messages)`));
  for (const { role, content } of visible.slice(-maxShownMessages)) {
    const text = sanitizeText(role === "user" ? `>>> ${content}` : content);
    const lines = wrapToWidth(text, screen.columns() - 1);
    for (const line of lines.slice(0, maxShownLines)) screen.writeLine(screen.style("dim", line));
    if (lines.length > maxShownLines) screen.writeLine(screen.style("dim", "…"));
  }
  if (visible.length > 0) screen.writeLine();
}

/** Ctrl-C stops waiting; the server continues to load the model. */
async function load({ server, conversation, editor }: ChatContext): Promise<void> {
  const stop = new AbortController();
  using stack = new DisposableStack();
  stack.use(editor.onInterrupt(() => stop.abort()));
  try {
    await loadModel(conversation, { server, signal: stop.signal, screen });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  }
}

/** Ctrl-C stops the response, not the chat. */
async function streamResponse(text: string, { server, conversation, editor }: ChatContext): Promise<void> {
  const message = await extractImages(text, conversation);
  const stop = new AbortController();
  let stats: GenerationStats | undefined;
  const onDone = (final: GenerationStats): void => void (stats = final);
  {
    using stack = new DisposableStack();
    stack.use(editor.onInterrupt(() => stop.abort()));
    const chunks = sendMessage(conversation, message, { server, signal: stop.signal, onDone });
    const { thinkingView, rendersMarkdown } = conversation;
    try {
      await showResponse(chunks, {
        screen,
        thinkingView,
        rendersMarkdown,
        waitingLabel: "Processing the prompt",
      });
    } catch (error) {
      if (!stop.signal.aborted) throw error;
      screen.writeLine(screen.style("dim", "(stopped)"));
    }
  }
  if (conversation.isVerbose && stats !== undefined)
    screen.writeLine(screen.style("dim", formatStats(stats)));
  screen.writeLine();
}
