import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readErrorBody } from "./error-body.ts";
import { failureCodes } from "./failure-code.ts";
import { nextStepFor, nextStepForStatus } from "./next-step.ts";

test("docs/hearth/errors.md has one row per code, with a next step where there is one", () => {
  const text = readFileSync(new URL("../../../docs/hearth/errors.md", import.meta.url), "utf8");
  const rows = [...text.matchAll(/^\| `([a-z-]+)` \|.*\| ([^|]*)\|$/gmu)];
  expect(rows.map(([, code = ""]) => code).toSorted()).toEqual([...failureCodes].toSorted());
  const details = { model: "qwen9", reason: "too-large" } as const;
  const withStep = failureCodes.filter((code) => {
    const reason = code === "address-forbidden" ? "private" : "too-large";
    return nextStepFor(code, { ...details, reason }) !== undefined;
  });
  const documented = rows.filter(([, , step = ""]) => step.trim() !== "").map(([, code = ""]) => code);
  expect(documented.toSorted()).toEqual([...withStep].toSorted());
});

test("an error body is read field by field, and values of the wrong type are ignored", () => {
  expect(readErrorBody({ error: "x", code: "model-not-found", model: "qwen9", extra: 1 })).toEqual({
    message: "x",
    code: "model-not-found",
    details: { model: "qwen9" },
  });
  expect(
    readErrorBody({ error: "x", code: 7, model: 7, retry_after_seconds: "3", reason: "unknown" }),
  ).toEqual({ message: "x", code: undefined, details: {} });
  expect(readErrorBody({ error: "x", code: "constructor" })?.code).toBeUndefined();
  for (const other of [undefined, null, "x", [], {}, { error: { message: "x" } }, { code: "queue-full" }]) {
    expect(readErrorBody(other)).toBeUndefined();
  }
});

test("without a code, the status decides", () => {
  expect([401, 403, 413, 429, 503].map((status) => nextStepForStatus(status)?.action)).toEqual([
    "correct-key",
    "use-allowed-address",
    "send-less",
    "retry",
    "retry",
  ]);
  expect([400, 404, 500].map((status) => nextStepForStatus(status))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

test("a missing model is pulled only when its name is known", () => {
  expect(nextStepFor("model-not-found", { model: "qwen9" })).toEqual({
    action: "pull-model",
    model: "qwen9",
  });
  expect(nextStepFor("model-not-found", { model: "" })).toEqual({ action: "check-name" });
  expect(nextStepFor("model-not-found")).toEqual({ action: "check-name" });
});
