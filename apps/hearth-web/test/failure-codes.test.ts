import { recordFigure } from "@hearth-and-keep/figures";
import {
  type ErrorBody,
  type ErrorDetails,
  type FailureCode,
  failureCodes,
  nextStepFor,
} from "@hearth-and-keep/hearth-contract";
import { afterEach, expect, test, vi } from "vitest";
import { RequestError, request, streamLines } from "../src/server-api/api-client.ts";
import { formatSuggestion } from "../src/server-api/suggestion.ts";

/** Every field that an error can have. */
const details: ErrorDetails = {
  model: "qwen9",
  capability: "vision",
  host: "models.local",
  reason: "private",
  retry_after_seconds: 3,
  needed_bytes: 3e9,
  prompt_tokens: 5000,
  context_tokens: 4096,
};

const covered: FailureCode[] = [];

afterEach(() => vi.unstubAllGlobals());

function respondWith(body: unknown, status: number): void {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(`${JSON.stringify(body)}\n`, { status })));
}

async function readAll(lines: AsyncIterable<unknown>): Promise<readonly unknown[]> {
  const read: unknown[] = [];
  for await (const line of lines) read.push(line);
  return read;
}

async function thrownBy(promise: Promise<unknown>): Promise<RequestError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof RequestError)) throw new Error("No RequestError was thrown");
  return error;
}

test.each(failureCodes)(
  "%s: the page reads the code and suggests by it, whole and streamed",
  async (code) => {
    const body: ErrorBody = { error: "It failed", code, ...details };
    respondWith(body, 500);
    const whole = await thrownBy(request("/api/tags"));
    respondWith(body, 200);
    const streamed = await thrownBy(readAll(streamLines("/api/chat", { method: "POST", body: {} })));
    for (const error of [whole, streamed]) {
      expect(error.message).toBe("It failed");
      expect(error.code).toBe(code);
      expect(error.suggestion).toEqual(nextStepFor(code, details));
      const text = error.suggestion === undefined ? "" : formatSuggestion(error.suggestion);
      expect(text).not.toMatch(/undefined|NaN|\[object/u);
      expect(text === "").toBe(nextStepFor(code, details) === undefined);
    }
    covered.push(code);
  },
);

async function suggestionFor(body: ErrorBody): Promise<string> {
  respondWith(body, 503);
  const { suggestion } = await thrownBy(request("/api/tags"));
  return suggestion === undefined ? "" : formatSuggestion(suggestion);
}

test("suggestions carry the values of the error", async () => {
  expect(await suggestionFor({ error: "x", code: "queue-full", retry_after_seconds: 3 })).toBe(
    "Try again in 3 s.",
  );
  expect(
    await suggestionFor({ error: "x", code: "address-forbidden", host: "a.local", reason: "plain" }),
  ).toBe("Start the server with --private-registries a.local.");
  expect(await suggestionFor({ error: "x", code: "address-forbidden", host: "a", reason: "scheme" })).toBe(
    "",
  );
});

test("with a key for inference, a missing or broken model is not to be pulled or deleted", () => {
  for (const action of ["pull-model", "replace-model", "replace-file"] as const) {
    const suggestion = { action, model: "qwen9" };
    expect(formatSuggestion(suggestion, "inference")).toMatch(/^Choose another .* requires an admin key\.$/u);
    expect(formatSuggestion(suggestion, "admin")).toBe(formatSuggestion(suggestion));
    expect(formatSuggestion(suggestion)).not.toContain("admin key");
  }
});

test("an error without a code shows its text, and only the status decides what to suggest", async () => {
  respondWith({ error: 'model "qwen9" not found, try pulling it first' }, 404);
  const other = await thrownBy(request("/api/tags"));
  expect([other.message, other.code, other.suggestion]).toEqual([
    'model "qwen9" not found, try pulling it first',
    undefined,
    undefined,
  ]);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response("<h1>Bad gateway</h1>", { status: 502 })));
  const proxy = await thrownBy(request("/api/tags"));
  expect([proxy.message, proxy.suggestion?.action]).toEqual(["<h1>Bad gateway</h1>", "retry"]);
  respondWith({ error: "x", code: "a-code-of-the-future", model: 7 }, 500);
  expect((await thrownBy(request("/api/tags"))).code).toBeUndefined();
});

test("a response that succeeds is returned as it is", async () => {
  respondWith({ models: [] }, 200);
  expect(await request("/api/tags")).toEqual({ models: [] });
  respondWith({ message: { content: "Hi" }, done: true }, 200);
  expect(await readAll(streamLines("/api/chat", {}))).toEqual([{ message: { content: "Hi" }, done: true }]);
});

test("every code was covered", () => {
  expect(covered.toSorted()).toEqual([...failureCodes].toSorted());
  recordFigure({
    claim: "plain 3",
    text: `${covered.length} of ${failureCodes.length} codes are read by the web UI, whole and streamed, which suggests the same step as the terminal`,
    counted: { reached: covered.length, needed: failureCodes.length },
  });
});
