import type { EngineEvent, EngineFailure, EngineRequest } from "@hearth-and-keep/engine";
import { greedySampling } from "@hearth-and-keep/engine/testing";
import { failureForOthers, GrammarBreaker } from "@hearth-and-keep/engine-host";
import { FailureError } from "@hearth-and-keep/failures";
import { expect, test } from "vitest";
import { ConstrainedRequests } from "./blame-grammars.ts";

const stall: EngineFailure = { kind: "grammar-too-slow", seconds: 10 };

function requestWith(grammar?: string): EngineRequest {
  return {
    input: { type: "raw", prompt: "a" },
    sampling: greedySampling,
    maxTokens: 1,
    cachePartition: "key",
    ...(grammar === undefined ? {} : { constraint: { type: "gbnf", grammar } }),
  };
}

/** Runs requests at once on an engine that then fails; returns the failure of each. */
async function failTogether(requests: readonly EngineRequest[], breaker: GrammarBreaker, failure = stall) {
  const { promise, reject } = Promise.withResolvers<never>();
  // Nobody waits for it if all requests are rejected.
  promise.catch(() => undefined);
  const constrained = new ConstrainedRequests(breaker, Promise.resolve(failure));
  async function* fail(): AsyncGenerator<EngineEvent> {
    yield await promise;
  }
  const results = Promise.allSettled(requests.map((request) => constrained.run(request, fail).next()));
  reject(new FailureError(failureForOthers(failure)));
  return (await results).map((result) => (result.status === "rejected" ? result.reason.failure : undefined));
}

const interrupted = { kind: "engine-unloaded", wasInterrupted: true };

test("the only request with a grammar is blamed and its grammar rejected; the others can run again", async () => {
  const breaker = new GrammarBreaker();
  expect(await failTogether([requestWith(), requestWith("slow"), requestWith()], breaker)).toEqual([
    interrupted,
    stall,
    interrupted,
  ]);
  expect(await failTogether([requestWith("slow")], breaker)).toEqual([{ kind: "grammar-rejected" }]);
});

test("of several requests with grammars none is blamed, and none runs again by itself", async () => {
  const unloaded = { kind: "engine-unloaded" };
  expect(await failTogether([requestWith("one"), requestWith("two")], new GrammarBreaker())).toEqual([
    unloaded,
    unloaded,
  ]);
});

test("a crash is the failure of all requests", async () => {
  const crash: EngineFailure = { kind: "engine-crashed", exitCode: 1, signal: null };
  const failures = await failTogether([requestWith(), requestWith("any")], new GrammarBreaker(), crash);
  expect(failures).toEqual([crash, crash]);
});
