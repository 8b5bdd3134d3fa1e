import { setTimeout as sleep } from "node:timers/promises";

export type LoadPlan = {
  /** Of a server, with its path. */
  readonly url: string;
  readonly model: string;
  readonly clients: number;
  /** Between two requests of one client, on average. */
  readonly pauseMilliseconds: number;
  readonly maxTokens: number;
};

export type Outcome = {
  readonly startedAt: number;
  readonly milliseconds: number;
  /** A piece of the answer had come. */
  readonly hasBegun: boolean;
  /** Undefined when all of it came. */
  readonly problem?: string;
};

export type ClientLoad = {
  readonly outcomes: readonly Outcome[];
  /** No new requests; settles when the last one has ended. */
  stop(): Promise<void>;
};

/** Many clients that ask, read the whole stream, pause and ask again; none of them tries anything twice. */
export function startClientLoad(plan: LoadPlan): ClientLoad {
  const outcomes: Outcome[] = [];
  const over = new AbortController();
  const work = Array.from({ length: plan.clients }, async (_, client) => {
    await sleep((client / plan.clients) * plan.pauseMilliseconds);
    for (let turn = 0; !over.signal.aborted; turn += 1) {
      outcomes.push(await askOnce(plan, `client ${client} asks for the ${turn}. time`));
      await sleep(plan.pauseMilliseconds * (0.5 + Math.random()));
    }
  });
  return {
    outcomes,
    async stop() {
      over.abort();
      await Promise.all(work);
    },
  };
}

async function askOnce({ url, model, maxTokens }: LoadPlan, content: string): Promise<Outcome> {
  const startedAt = performance.now();
  let hasBegun = false;
  const end = (problem?: string): Outcome => ({
    startedAt,
    milliseconds: performance.now() - startedAt,
    hasBegun,
    ...(problem === undefined ? {} : { problem }),
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
    if (response.status !== 200) return end(`status ${response.status}: ${await response.text()}`);
    let text = "";
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece).toString("utf8");
      hasBegun ||= /"content":"[^"]/u.test(text);
    }
    return end(text.includes("data: [DONE]") ? undefined : `cut off: ${text.slice(-200)}`);
  } catch (problem) {
    return end(String(problem));
  }
}
