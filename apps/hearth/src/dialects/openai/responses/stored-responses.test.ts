import { expect, test } from "vitest";
import { createId } from "./output-item.ts";
import { ResponseStore } from "./response-store.ts";
import { ItemReader, toStoredItem } from "./stored-record.ts";
import { readHistory, saveResponse } from "./stored-responses.ts";
import { writeResponse } from "./write-response.ts";

const mebibyte = 1024 * 1024;
const keys = ["k0", "k1", "k2", "k3", "k4"];
const range = (length: number) => Array.from({ length }, (_, index) => index);

/** Stores one turn and returns the id of its response. */
function say(store: ResponseStore, keyName: string, turn: { text: string; previous: string | null }): string {
  const { text, previous } = turn;
  const id = createId("resp");
  const request = { model: "tiny", input: text, previous_response_id: previous };
  const frame = { id, createdAt: new Date(0), request, temperature: 1, topP: 1, isStored: true };
  const part = { type: "output_text", text: `${text} answered`, annotations: [], logprobs: [] } as const;
  const output = { id: createId("msg"), type: "message", status: "completed", role: "assistant" } as const;
  const usage = { promptTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 };
  const response = writeResponse(frame, { status: "completed", usage }, [{ ...output, content: [part] }]);
  const input = [toStoredItem({ type: "message", role: "user", content: text })];
  saveResponse(store.forKey(keyName), { response, input });
  return id;
}

function historyOf(store: ResponseStore, keyName: string, id: string): readonly unknown[] {
  const records = store.forKey(keyName);
  return readHistory(records, id, new ItemReader(records)).map(({ content }) =>
    typeof content === "string" ? content : content?.[0]?.text,
  );
}

test("5 keys with 40 conversations of 10 turns lose nothing, read nothing of each other, and stay within memory", () => {
  const maxTotalBytes = 256 * mebibyte;
  const store = new ResponseStore({
    maxResponses: 512,
    maxBytes: 64 * mebibyte,
    maxTotalBytes,
    idleSeconds: 60,
  });
  const places = keys.flatMap((key) => range(40).map((conversation) => ({ key, conversation })));
  const last = new Map<string, string>();
  for (const turn of range(10)) {
    for (const { key, conversation } of places) {
      const place = `${key}/${conversation}`;
      const text = `${place}/${turn}`;
      last.set(place, say(store, key, { text, previous: last.get(place) ?? null }));
    }
  }
  for (const { key, conversation } of places) {
    const place = `${key}/${conversation}`;
    const id = last.get(place) ?? "";
    const said = range(10).flatMap((turn) => [`${place}/${turn}`, `${place}/${turn} answered`]);
    expect(historyOf(store, key, id)).toEqual(said);
    for (const other of keys.filter((each) => each !== key)) {
      expect(store.forKey(other).find(id)).toBeUndefined();
    }
  }
  expect(store.bytes).toBeLessThan(16 * mebibyte);
});

test("the same flow with small limits keeps the memory within them, and a broken conversation is an error", () => {
  const limits = { maxResponses: 512, maxBytes: 200_000, maxTotalBytes: 500_000, idleSeconds: 60 };
  const store = new ResponseStore(limits);
  const last = new Map<string, string>();
  for (const turn of range(100)) {
    for (const key of keys) {
      const text = `${turn} ${"x".repeat(1000)}`;
      last.set(key, say(store, key, { text, previous: last.get(key) ?? null }));
      expect(store.bytes).toBeLessThanOrEqual(limits.maxTotalBytes);
    }
  }
  expect(() => historyOf(store, "k0", last.get("k0") ?? "")).toThrow(
    expect.objectContaining({ failure: expect.objectContaining({ kind: "stored-object-not-found" }) }),
  );
});
