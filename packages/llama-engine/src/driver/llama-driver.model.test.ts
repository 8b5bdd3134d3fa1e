import { driverSuite } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { createLlamaDriver } from "./llama-driver.ts";

const suite = driverSuite("the llama.cpp binding", async () => createLlamaDriver());

test("every rule of the engine port holds", () => {
  expect(suite.passed()).toBe(suite.rules);
});
