import { expect, test } from "vitest";
import { cancelRepeatedly } from "./cancel-repeatedly.ts";
import { loadSmolLm } from "./engine-under-test.ts";

test("a cancelled request frees its sequence quickly, during generation and prompt evaluation, and no sequence is lost", {
  timeout: 480_000,
}, async () => {
  await expect(cancelRepeatedly({ load: loadSmolLm, claim: "engine 6" })).resolves.toBeUndefined();
});
