import { describe, expect, test } from "vitest";
import { readKeepAlive } from "../read-keep-alive.ts";
import { readContext, writeContext } from "./context-numbers.ts";
import { imageSources } from "./read-images.ts";
import { readMessages } from "./read-messages.ts";

describe("keep_alive", () => {
  test.each([
    [300, 300],
    [0, 0],
    [0.5, 0.5],
    [-1, "forever"],
    ["0", 0],
    ["-1", "forever"],
    ["300", 300],
    ["300ms", 0.3],
    ["5m", 300],
    ["1h30m", 5400],
    ["1.5h", 5400],
    ["-1m", "forever"],
    ["0s", 0],
    [1e12, "forever"],
    [null, undefined],
    [undefined, undefined],
  ])("%j is %j", (written, meant) => {
    expect(readKeepAlive(written)).toBe(meant);
  });

  test.each(["", "m", "5 m", "5d", "m5", "1e3", "five", "5m-1s", "NaN"])("%j is rejected", (written) => {
    const failure = { kind: "request-invalid", reason: `time: invalid duration ${JSON.stringify(written)}` };
    expect(() => readKeepAlive(written)).toThrow(
      expect.objectContaining({ failure: expect.objectContaining(failure) }),
    );
  });
});

describe("context", () => {
  test.each([1, 2, 3, 4, 5])("turns of any length are decoded unchanged: %i", (length) => {
    const turns = [
      { role: "user", content: "x".repeat(length) },
      { role: "assistant", content: "Äß😀" },
    ] as const;
    expect(readContext(writeContext(turns))).toEqual(turns);
  });

  test("without numbers has no turns, and numbers of another server are rejected", () => {
    expect(readContext([])).toEqual([]);
    expect(readContext(null)).toEqual([]);
    const good = writeContext([{ role: "user", content: "Hi" }]) ?? [];
    const ghost = writeContext([{ role: "user", content: "Hi" }])?.with(1, 0) ?? [];
    for (const bad of [[1, 4093, 198], good.slice(0, -1), [...good, 1], ghost, [5], [0]]) {
      expect(() => readContext(bad)).toThrow("request-invalid");
    }
  });
});

describe("images", () => {
  const image = { bytes: Buffer.from([1]), mediaType: "image/png" };

  test("are bare base64 or data URLs", () => {
    expect(imageSources(["AQID", "data:image/png;base64,AQID"], "images")).toEqual([
      { field: "images.0", base64: "AQID" },
      { field: "images.1", base64: "AQID", declaredType: "image/png" },
    ]);
  });

  test("stay with their message, in order", () => {
    const read = new Map([
      ["messages.0.images.0", image],
      ["messages.0.images.1", { ...image, mediaType: "image/gif" }],
    ]);
    const look = { content: "Look", images: ["AQID", "AQID"] };
    expect(readMessages([{ role: "user", ...look }], read)).toEqual([
      { role: "user", content: "Look", images: [...read.values()] },
    ]);
    expect(() => readMessages([{ role: "assistant", ...look }], read)).toThrow("request-invalid");
  });
});
