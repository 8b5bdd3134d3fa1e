import { peekLiteral, readToEnd, readUntil, skipWhitespace, takeLiteral } from "./stream-parser/read-text.ts";
import type { ParserSteps, Scanner } from "./stream-parser/scanner.ts";
import { type Emit, type SplitEvent, splitEvents, textDelta } from "./stream-parser/split-events.ts";

type ReasoningFormatName =
  | "think"
  | "seed-think"
  | "minimax-think"
  | "mistral-think"
  | "command-thinking"
  | "gemma-channel"
  | "apertus-inner"
  | "kimi-k3-think"
  | "hunyuan-3-think"
  | "thinking"
  | "reasoning"
  | "thought";

/** The tags around a model's thinking. */
export type ReasoningFormat = {
  readonly name: ReasoningFormatName;
  readonly opens: readonly string[];
  readonly close: string;
  /** Strings that identify a template that assembles its tags from fragments; otherwise the tags identify it. */
  readonly templateMarkers?: readonly string[];
  /** Tags around the response itself, removed from the visible text. */
  readonly hidden?: readonly string[];
};

/** In order of detection, more specific formats first. */
export const reasoningFormats: readonly ReasoningFormat[] = [
  { name: "seed-think", opens: ["<seed:think>"], close: "</seed:think>" },
  { name: "minimax-think", opens: ["<mm:think>"], close: "</mm:think>" },
  { name: "mistral-think", opens: ["[THINK]"], close: "[/THINK]" },
  {
    name: "command-thinking",
    opens: ["<|START_THINKING|>"],
    close: "<|END_THINKING|>",
    hidden: ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"],
  },
  { name: "gemma-channel", opens: ["<|channel>thought", "<|channel>analysis"], close: "<channel|>" },
  { name: "apertus-inner", opens: ["<|inner_prefix|>"], close: "<|inner_suffix|>" },
  {
    name: "kimi-k3-think",
    opens: ["<|open|>think<|sep|>"],
    close: "<|close|>think<|sep|>",
    templateMarkers: ["<|open|>", "<|close|>"],
    hidden: ["<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"],
  },
  {
    name: "hunyuan-3-think",
    opens: ["<think:opensource>"],
    close: "</think:opensource>",
    templateMarkers: ["<think{}>", ":opensource"],
  },
  { name: "think", opens: ["<think>"], close: "</think>" },
  { name: "thinking", opens: ["<thinking>"], close: "</thinking>" },
  { name: "reasoning", opens: ["<reasoning>"], close: "</reasoning>" },
  { name: "thought", opens: ["<thought>"], close: "</thought>" },
];

/** The format a chat template uses; undefined for a model that does not think in tags. */
export function detectReasoningFormat(template: string): ReasoningFormat | undefined {
  return reasoningFormats.find(({ opens, close, templateMarkers }) =>
    templateMarkers === undefined
      ? [close, ...opens].some((tag) => template.includes(tag))
      : templateMarkers.every((marker) => template.includes(marker)),
  );
}

/** Whether a prompt ends inside thinking, as some templates render it. */
export function opensReasoning(prompt: string, format: ReasoningFormat): boolean {
  const end = prompt.trimEnd();
  return format.opens.some((open) => end.endsWith(open));
}

/** What ends the thinking in which raw output stops; undefined if it does not stop in thinking. */
export function closeTaggedThinking(
  output: string,
  { format: { opens, close }, startsInReasoning }: ReasoningPlan,
): string | undefined {
  const start = output.trimStart();
  const isOpen = startsInReasoning || opens.some((open) => start.startsWith(open));
  return isOpen && !output.includes(close) ? `\n${close}\n\n` : undefined;
}

export type ReasoningPlan = {
  readonly format: ReasoningFormat;
  /** Whether the prompt already opened the thinking, so that the output starts inside it. */
  readonly startsInReasoning: boolean;
};

/**
 * Separates thinking from the response. Only a tag at the start opens thinking: later, the model is writing about it.
 * Whitespace around the thinking and before the response is dropped, as in llama.cpp. Thinking that is never closed
 * lasts until the end.
 *
 *   start --opening tag, or opened in the prompt--> thinking --closing tag--> response
 *   start --anything else--> response
 */
export function splitReasoning(
  events: AsyncIterable<SplitEvent>,
  plan: ReasoningPlan,
): AsyncGenerator<SplitEvent> {
  return splitEvents(events, function* readOutput(scanner, emit) {
    if (yield* startsThinking(scanner, plan))
      yield* readThinking(scanner, { close: plan.format.close, emit });
    yield* readVisible(scanner, { hidden: plan.format.hidden ?? [], emit });
  });
}

function* startsThinking(
  scanner: Scanner,
  { format, startsInReasoning }: ReasoningPlan,
): ParserSteps<boolean> {
  scanner.startRecording();
  yield* skipWhitespace(scanner);
  const open = yield* peekLiteral(scanner, format.opens);
  if (open !== undefined || startsInReasoning) {
    // Some models repeat the tag although the prompt already has it.
    scanner.take(open?.length ?? 0);
    scanner.stopRecording();
    return true;
  }
  const { unread, endedBy } = scanner;
  const isPartialTag = unread !== "" && format.opens.some((tag) => tag.startsWith(unread));
  // A tag truncated by the token limit is dropped.
  if (endedBy === "length" && isPartialTag) scanner.take(unread.length);
  else scanner.rewind();
  scanner.stopRecording();
  return false;
}

type ThinkingContext = { readonly close: string; readonly emit: Emit };

function* readThinking(scanner: Scanner, { close, emit }: ThinkingContext): ParserSteps {
  yield* skipWhitespace(scanner);
  const search = {
    markers: [close],
    trimsBeforeMarker: true,
    trimsAtEnd: true,
    partialMarkerAtEnd: "drop-if-truncated",
  } as const;
  yield* readUntil(scanner, search, ({ text }) => emit({ type: "reasoning-delta", text }));
  yield* takeLiteral(scanner, close);
  yield* skipWhitespace(scanner);
}

type VisibleContext = { readonly hidden: readonly string[]; readonly emit: Emit };

function* readVisible(scanner: Scanner, { hidden, emit }: VisibleContext): ParserSteps {
  if (hidden.length === 0) return yield* readToEnd(scanner, (chunk) => emit(textDelta(chunk)));
  for (;;) {
    const search = { markers: hidden, partialMarkerAtEnd: "drop-if-truncated" } as const;
    const marker = yield* readUntil(scanner, search, (chunk) => emit(textDelta(chunk)));
    if (marker === undefined) return;
    scanner.take(marker.length);
  }
}
