/**
 * @module
 * Every state of every screen, with the steps that reach it. The test takes screenshots of each and checks its
 * accessibility; a state that cannot be reached fails.
 * Imported by `every-screen.test.ts`.
 */
import type { CallerStatus } from "@hearth-and-keep/hearth-contract";
import { appear, type ScreenState } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { type MockChatResponse, mockChatResponse, sendPrompt } from "../mock-chat-response.ts";

/** `reach` receives the URL of the server. */
export type PageState = ScreenState<string>;

/** Requests that never get a response. */
export async function stallRequests(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, () => undefined);
}

export async function abortRequests(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, (route) => route.abort());
}

export async function mockJson(page: Page, pattern: string, body: unknown): Promise<void> {
  await page.route(pattern, (route) => route.fulfill({ status: 200, body: JSON.stringify(body) }));
}

/** Like a key for inference, from the page's point of view. */
export async function mockInferenceKey(page: Page): Promise<void> {
  const status: CallerStatus = { role: "inference" };
  await mockJson(page, "**/api/status", status);
}

/** A stream that sends these lines and stays open. */
export async function mockOpenStream(page: Page, path: string, lines: readonly object[]): Promise<void> {
  await page.evaluate(
    ([target, text]) => {
      const originalFetch = window.fetch;
      window.fetch = (input, options) => {
        if (input !== target) return originalFetch(input, options);
        const bytes = new TextEncoder().encode(text);
        const stream = new ReadableStream({ start: (controller) => controller.enqueue(bytes) });
        return Promise.resolve(new Response(stream));
      };
    },
    [path, lines.map((line) => `${JSON.stringify(line)}\n`).join("")] as const,
  );
}

export async function openChat(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/ui`);
  await appear(page.getByText("What's on your mind?"));
}

export async function openAnsweredChat(page: Page, url: string, response: MockChatResponse): Promise<void> {
  await mockChatResponse(page, response);
  await openChat(page, url);
  await sendPrompt(page, "How do I count the words of a text in Python, and what should I look out for?");
  await appear(page.getByRole("button", { name: "Regenerate" }));
}

export async function openSection(page: Page, url: string, section: string): Promise<void> {
  await page.goto(`${url}/ui/${section}`);
  await appear(page.getByRole("heading", { level: 1 }));
}
