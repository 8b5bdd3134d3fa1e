import { driverSuite } from "@hearth-and-keep/engine/testing";
import { preparedWorker } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const suite = driverSuite("the llama.cpp binding", async () => createLlamaDriver(await preparedWorker()));

test("every rule of the engine port holds", () => {
  expect(suite.passed()).toBe(suite.rules);
});
