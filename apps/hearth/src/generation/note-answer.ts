import type { AnswerEvent } from "./answer-request.ts";

/** Short facts about a request, for its log line and the metrics. */
export type NoteFacts = (facts: Readonly<Record<string, string | number>>) => void;

/** Passes an answer's events on and notes its figures: what it cost, never what it said. */
export async function* noteAnswer(
  events: AsyncIterable<AnswerEvent>,
  { note, countPiece }: { readonly note: NoteFacts; readonly countPiece: () => void },
): AsyncGenerator<AnswerEvent> {
  const startedAt = performance.now();
  let hasBegun = false;
  for await (const event of events) {
    if (event.type === "answer-start") {
      const { queueMilliseconds, loadMilliseconds, droppedMessages } = event;
      note({
        queueMilliseconds: Math.round(queueMilliseconds),
        loadMilliseconds: Math.round(loadMilliseconds),
        ...(droppedMessages === 0 ? {} : { droppedMessages }),
      });
    } else if (event.type === "generation-end") {
      note(figuresOf(event));
    } else if (event.type !== "prompt-progress") {
      countPiece();
      if (!hasBegun) note({ firstTokenMilliseconds: Math.round(performance.now() - startedAt) });
      hasBegun = true;
    }
    yield event;
  }
}

type End = Extract<AnswerEvent, { type: "generation-end" }>;

function figuresOf({ reason, usage, timings }: End): Readonly<Record<string, string | number>> {
  const { promptTokens, cachedTokens, outputTokens } = usage;
  const speed = tokensPerSecond(usage, timings);
  return {
    promptTokens,
    cachedTokens,
    outputTokens,
    ...(speed === 0 ? {} : { tokensPerSecond: speed }),
    stopReason: reason,
  };
}

/** To a tenth; zero when there was no time to tell. */
function tokensPerSecond({ outputTokens }: End["usage"], { outputMilliseconds }: End["timings"]): number {
  return outputMilliseconds > 0 ? Math.round((outputTokens / outputMilliseconds) * 10_000) / 10 : 0;
}
