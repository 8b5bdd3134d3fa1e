/**
 * @module
 * Every screen of the page and every state it can be in, each with the way there: what pictures are taken of, and
 * what is checked for people who do not see or do not use a mouse. A state that cannot be reached fails its test.
 * Imported by the test that goes over all screens.
 */
import { appear, type ScreenState } from "@hearth-and-keep/test-servers";
import type { Page } from "playwright-core";
import { askOn, type ToldAnswer, tellAnswer } from "../mock-chat-response.ts";

/** Reached at the address of a server. */
export type PageState = ScreenState<string>;

/** Answers that do not come as long as somebody looks. */
export async function keepWaiting(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, () => undefined);
}

export async function breakOff(page: Page, pattern: string): Promise<void> {
  await page.route(pattern, (route) => route.abort());
}

export async function tell(page: Page, pattern: string, body: unknown): Promise<void> {
  await page.route(pattern, (route) => route.fulfill({ status: 200, body: JSON.stringify(body) }));
}

/** Lines of a stream that does not end as long as somebody looks. */
export async function keepOpen(page: Page, path: string, lines: readonly object[]): Promise<void> {
  await page.evaluate(
    ([where, text]) => {
      const usual = window.fetch;
      window.fetch = (to, how) => {
        if (to !== where) return usual(to, how);
        const stream = new ReadableStream({ start: (pen) => pen.enqueue(new TextEncoder().encode(text)) });
        return Promise.resolve(new Response(stream));
      };
    },
    [path, lines.map((line) => `${JSON.stringify(line)}\n`).join("")] as const,
  );
}

export async function openChat(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/ui`);
  await appear(page.getByText("What is on your mind?"));
}

export async function chatAbout(page: Page, url: string, answer: ToldAnswer): Promise<void> {
  await tellAnswer(page, answer);
  await openChat(page, url);
  await askOn(page, "How do I count the words of a text in Python, and what should I look out for?");
  await appear(page.getByRole("button", { name: "Regenerate" }));
}

export async function openPlace(page: Page, url: string, place: string): Promise<void> {
  await page.goto(`${url}/ui/${place}`);
  await appear(page.getByRole("heading", { level: 1 }));
}
