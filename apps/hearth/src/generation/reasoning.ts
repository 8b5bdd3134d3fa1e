import type { ReasoningFormat } from "./reasoning-formats.ts";
import { nextOf, passOn, readUntil, skipSpace, takeLiteral } from "./splitting/read-text.ts";
import type { Scanner, Steps } from "./splitting/scanner.ts";
import { type AnswerEvent, type Emit, splitEvents, textDelta } from "./splitting/split-events.ts";

export type ReasoningPlan = {
  readonly format: ReasoningFormat;
  /** Whether the prompt already opened the thinking, so that the answer begins inside it. */
  readonly startsInReasoning: boolean;
};

/**
 * Splits thinking from the answer. Only thinking at the beginning counts: later the same tag is something the
 * model writes about. White space around the thinking and before the answer is dropped, as llama.cpp does.
 * Thinking that is never closed is thinking to the end.
 *
 *   beginning --tag, or opened in the prompt--> thinking --closing tag--> answer
 *   beginning --anything else--> answer
 */
export function splitReasoning(
  events: AsyncIterable<AnswerEvent>,
  plan: ReasoningPlan,
): AsyncGenerator<AnswerEvent> {
  return splitEvents(events, function* readAnswer(scanner, emit) {
    if (yield* beginsThinking(scanner, plan))
      yield* readThinking(scanner, { close: plan.format.close, emit });
    yield* readVisible(scanner, { hidden: plan.format.hidden ?? [], emit });
  });
}

/** Whether a prompt ends inside thinking, as the templates of some models leave it. */
export function opensReasoning(prompt: string, format: ReasoningFormat): boolean {
  const end = prompt.trimEnd();
  return format.opens.some((open) => end.endsWith(open));
}

function* beginsThinking(scanner: Scanner, { format, startsInReasoning }: ReasoningPlan): Steps<boolean> {
  scanner.remember();
  yield* skipSpace(scanner);
  const open = yield* nextOf(scanner, format.opens);
  if (open !== undefined || startsInReasoning) {
    // Some models write the tag again although the prompt already has it.
    scanner.take(open?.length ?? 0);
    scanner.forget();
    return true;
  }
  const { unread, endedBy } = scanner;
  const isHalfTag = unread !== "" && format.opens.some((tag) => tag.startsWith(unread));
  // What a limit cut off after half a tag is no text.
  if (endedBy === "length" && isHalfTag) scanner.take(unread.length);
  else scanner.rewind();
  scanner.forget();
  return false;
}

type ReadingThinking = { readonly close: string; readonly emit: Emit };

function* readThinking(scanner: Scanner, { close, emit }: ReadingThinking): Steps {
  yield* skipSpace(scanner);
  const plan = {
    markers: [close],
    dropsSpaceBefore: true,
    dropsSpaceAtEnd: true,
    heldAtEnd: "drop-when-cut",
  } as const;
  yield* readUntil(scanner, plan, ({ text }) => emit({ type: "reasoning-delta", text }));
  yield* takeLiteral(scanner, close);
  yield* skipSpace(scanner);
}

type ReadingVisible = { readonly hidden: readonly string[]; readonly emit: Emit };

function* readVisible(scanner: Scanner, { hidden, emit }: ReadingVisible): Steps {
  if (hidden.length === 0) return yield* passOn(scanner, (piece) => emit(textDelta(piece)));
  for (;;) {
    const plan = { markers: hidden, heldAtEnd: "drop-when-cut" } as const;
    const marker = yield* readUntil(scanner, plan, (piece) => emit(textDelta(piece)));
    if (marker === undefined) return;
    scanner.take(marker.length);
  }
}
