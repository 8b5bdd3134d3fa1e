import { expect, test } from "vitest";
import { loadInLlamaServer } from "./engine-under-test.ts";
import { hangUpOften } from "./hang-up-often.ts";

test("a hang-up frees the spawned llama-server's slot soon, while writing and while reading, and none is ever lost", {
  timeout: 480_000,
}, async () => {
  await expect(hangUpOften({ load: loadInLlamaServer, claim: "engines 5" })).resolves.toBeUndefined();
});
