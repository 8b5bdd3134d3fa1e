import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { kill } from "./test/fake-driver.ts";
import { giveBack, isSettled, setStage } from "./test/fixture.ts";

test("a model is loaded with the default context, or with what it was trained on if that is less", async () => {
  const stage = setStage();
  expect((await stage.lend("a")).contextTokens).toBe(100);
  expect((await stage.lend("b", { trainedContextTokens: 64 })).contextTokens).toBe(64);
});

test("a request that asks for more gets more, but never more than the model was trained on", async () => {
  const stage = setStage();
  expect((await stage.lend("a", { contextTokens: 500 })).contextTokens).toBe(500);
  expect((await stage.lend("b", { contextTokens: 5000 })).contextTokens).toBe(1000);
});

test("a request that asks for no more than is loaded never reloads, whoever alternates", async () => {
  const stage = setStage();
  let lends = 0;
  for (; lends < 200; lends += 1) {
    giveBack(await stage.lend("a", { contextTokens: [1000, 10, 500, 5000][lends % 4] ?? 0 }));
  }
  giveBack(await stage.lend("a"));
  expect(stage.loads).toHaveLength(1);
  const reloads = stage.loads.length - 1;
  recordFigure({
    claim: "families 13",
    text: `${lends} requests with four different contexts: ${reloads} reloads for a smaller one`,
    counted: { reached: lends, needed: 200 },
  });
});

test("a request that asks for more waits until the model is idle, and those behind it wait too", async () => {
  const stage = setStage();
  const running = await stage.lend("a");
  const larger = stage.lend("a", { contextTokens: 400 });
  const behind = stage.lend("a");
  expect(await isSettled(larger)).toBe(false);
  expect(await isSettled(behind)).toBe(false);
  giveBack(running);
  expect((await larger).contextTokens).toBe(400);
  expect((await behind).engine).toBe((await larger).engine);
  expect(stage.unloads()).toEqual(["a outgrown"]);
});

test("one load serves the largest context in the line", async () => {
  const stage = setStage({}, { isHeld: true });
  const busy = stage.lend("a");
  const lending = [stage.lend("a", { contextTokens: 300 }), stage.lend("a", { contextTokens: 900 })];
  stage.loads[0]?.finish();
  giveBack(await busy);
  await expect.poll(() => stage.loads.length).toBe(2);
  stage.loads[1]?.finish();
  const leases = await Promise.all(lending);
  expect(leases.map(({ contextTokens }) => contextTokens)).toEqual([900, 900]);
});

test("a kept-alive override outlives growing", async () => {
  const stage = setStage();
  giveBack(await stage.lend("a", { keepAlive: "forever" }));
  giveBack(await stage.lend("a", { contextTokens: 400 }));
  expect(stage.scheduler.running()).toMatchObject([{ contextTokens: 400, expiresAt: "never" }]);
});

test("a context that can never fit is refused at once, the loaded one goes on, a smaller one is served", async () => {
  const stage = setStage({ memoryBudgetBytes: 2000 });
  const running = await stage.lend("a");
  const failure = { kind: "memory-lacking", neededBytes: 1000 + 4 * 500 };
  await expect(stage.lend("a", { contextTokens: 500 })).rejects.toMatchObject({ failure });
  expect((await stage.lend("a", { contextTokens: 90 })).engine).toBe(running.engine);
});

test("when even the default context does not fit, a request may ask for a smaller one", async () => {
  const stage = setStage({ memoryBudgetBytes: 1300 });
  await expect(stage.lend("a")).rejects.toMatchObject({ failure: { kind: "memory-lacking" } });
  const smaller = await stage.lend("a", { contextTokens: 50 });
  expect(smaller.contextTokens).toBe(50);
  giveBack(smaller);
  expect((await stage.lend("a")).contextTokens).toBe(50);
});

test("who waited for a smaller context than the default is told of the memory when that engine dies", async () => {
  const stage = setStage({ memoryBudgetBytes: 1300 });
  await stage.lend("a", { contextTokens: 50 });
  const unable = stage.lend("a");
  const able = stage.lend("a", { contextTokens: 60 });
  await kill(stage.loads[0]?.engine);
  await expect(unable).rejects.toMatchObject({ failure: { kind: "memory-lacking", neededBytes: 1400 } });
  expect((await able).contextTokens).toBe(60);
});
