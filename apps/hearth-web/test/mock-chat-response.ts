import type { ErrorBody } from "@hearth-and-keep/hearth-contract";
import type { Page, Route } from "playwright-core";

export type MockChatResponse = {
  readonly text?: string;
  readonly thinking?: string;
  /** Omits the final line, like a connection that breaks. */
  readonly isCut?: boolean;
  /** An error response instead of a stream. */
  readonly error?: { readonly status: number; readonly body: ErrorBody };
};

/** Answers `/api/chat` with this response instead of a model's, for texts that no model writes on request. */
export async function mockChatResponse(page: Page, response: MockChatResponse): Promise<void> {
  await page.route("**/api/chat", (route) => fulfill(route, response));
}

function fulfill(
  route: Route,
  { text = "", thinking, isCut = false, error }: MockChatResponse,
): Promise<void> {
  if (error !== undefined) return route.fulfill({ status: error.status, body: JSON.stringify(error.body) });
  const lines = [
    ...(thinking === undefined ? [] : [{ message: { role: "assistant", content: "", thinking } }]),
    { message: { role: "assistant", content: text }, done: false },
    ...(isCut ? [] : [{ done: true, done_reason: "stop", eval_count: 42, eval_duration: 1e9 }]),
  ];
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  return route.fulfill({ status: 200, contentType: "application/x-ndjson", body });
}

/** Types a message and sends it with Enter. */
export async function sendPrompt(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.getByLabel("Message", { exact: true }).press("Enter");
}
