import { expect, test } from "vitest";
import { cancelRepeatedly } from "./cancel-repeatedly.ts";
import { loadInLlamaServer } from "./engine-under-test.ts";

test("a cancelled request frees its slot of the spawned llama-server quickly, during generation and prompt evaluation, and no slot is lost", {
  timeout: 480_000,
}, async () => {
  await expect(cancelRepeatedly({ load: loadInLlamaServer, claim: "engines 5" })).resolves.toBeUndefined();
});
