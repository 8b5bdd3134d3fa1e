import type { Page, Route } from "playwright-core";

export type ToldAnswer = {
  readonly text?: string;
  readonly thinking?: string;
  /** Leaves the end out, as a connection that breaks does. */
  readonly isCut?: boolean;
  /** A refusal instead of an answer. */
  readonly refusal?: { readonly status: number; readonly error: string };
};

/** The next chats are answered by these words instead of by a model: for what no model says when asked. */
export async function tellAnswer(page: Page, answer: ToldAnswer): Promise<void> {
  await page.route("**/api/chat", (route) => fulfil(route, answer));
}

function fulfil(route: Route, { text = "", thinking, isCut = false, refusal }: ToldAnswer): Promise<void> {
  if (refusal !== undefined) {
    return route.fulfill({ status: refusal.status, body: JSON.stringify({ error: refusal.error }) });
  }
  const lines = [
    ...(thinking === undefined ? [] : [{ message: { role: "assistant", content: "", thinking } }]),
    { message: { role: "assistant", content: text }, done: false },
    ...(isCut ? [] : [{ done: true, done_reason: "stop", eval_count: 42, eval_duration: 1e9 }]),
  ];
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return route.fulfill({ status: 200, contentType: "application/x-ndjson", body });
}

/** Writes a question and sends it by the Enter key. */
export async function askOn(page: Page, question: string): Promise<void> {
  await page.getByLabel("Your question").fill(question);
  await page.getByLabel("Your question").press("Enter");
}
