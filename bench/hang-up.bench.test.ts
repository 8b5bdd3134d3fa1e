import { expect, test } from "vitest";
import { loadSmolLm } from "./engine-under-test.ts";
import { hangUpOften } from "./hang-up-often.ts";

test("a hang-up frees the sequence soon, while writing and while reading, and none is ever lost", {
  timeout: 480_000,
}, async () => {
  await expect(hangUpOften({ load: loadSmolLm, claim: "engine 6" })).resolves.toBeUndefined();
});
