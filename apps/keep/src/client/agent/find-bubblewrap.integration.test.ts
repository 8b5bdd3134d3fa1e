import { expect, test } from "vitest";
import { requireBubblewrap } from "./find-bubblewrap.ts";

test("without a bubblewrap that may create namespaces nothing is started", () => {
  expect(() => requireBubblewrap([])).toThrow(failure("bubblewrap is not installed"));
  expect(() => requireBubblewrap(["/bin/false"])).toThrow(
    failure("bubblewrap may not create namespaces here"),
  );
  expect(requireBubblewrap()).toMatch(/\/bwrap$/u);
});

function failure(reason: string): object {
  return expect.objectContaining({ failure: { kind: "sandbox-missing", reason } });
}
