import { setTimeout as sleep } from "node:timers/promises";

export type LoadPlan = {
  /** The base URL of a server. */
  readonly url: string;
  readonly model: string;
  readonly clients: number;
  /** The average pause between two requests of one client. */
  readonly pauseMilliseconds: number;
  readonly maxTokens: number;
};

export type Outcome = {
  readonly startedAt: number;
  readonly milliseconds: number;
  /** Whether any output had arrived. */
  readonly hasStarted: boolean;
  /** Undefined if the response was complete. */
  readonly error?: string;
};

export type ClientLoad = {
  readonly outcomes: readonly Outcome[];
  /** Sends no new requests; resolves when the last one has finished. */
  stop(): Promise<void>;
};

/** Starts clients that send a request, read the complete stream, pause and repeat. They never retry. */
export function startClientLoad(plan: LoadPlan): ClientLoad {
  const outcomes: Outcome[] = [];
  const stopping = new AbortController();
  const work = Array.from({ length: plan.clients }, async (_, client) => {
    await sleep((client / plan.clients) * plan.pauseMilliseconds);
    for (let turn = 0; !stopping.signal.aborted; turn += 1) {
      outcomes.push(await sendOne(plan, `client ${client} asks for the ${turn}. time`));
      await sleep(plan.pauseMilliseconds * (0.5 + Math.random()));
    }
  });
  return {
    outcomes,
    async stop() {
      stopping.abort();
      await Promise.all(work);
    },
  };
}

async function sendOne({ url, model, maxTokens }: LoadPlan, content: string): Promise<Outcome> {
  const startedAt = performance.now();
  let hasStarted = false;
  const finish = (error?: string): Outcome => ({
    startedAt,
    milliseconds: performance.now() - startedAt,
    hasStarted,
    ...(error === undefined ? {} : { error }),
  });
  try {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model,
        stream: true,
        max_tokens: maxTokens,
        messages: [{ role: "user", content }],
      }),
    });
    if (response.status !== 200) return finish(`status ${response.status}: ${await response.text()}`);
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString("utf8");
      hasStarted ||= /"content":"[^"]/u.test(text);
    }
    return finish(text.includes("data: [DONE]") ? undefined : `truncated: ${text.slice(-200)}`);
  } catch (error) {
    return finish(String(error));
  }
}
