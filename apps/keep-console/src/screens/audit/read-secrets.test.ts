import { expect, test } from "vitest";
import { readSecretsOf } from "./read-secrets.tsx";

test("the secrets of an event are read with their versions, and other events have none", () => {
  const body = { type: "values-read", path: "/prod", secrets: ["0198-a@3", "0198-b@12"] };
  expect(readSecretsOf({ body })).toEqual({
    folder: "/prod",
    secrets: [
      { id: "0198-a", version: "3" },
      { id: "0198-b", version: "12" },
    ],
  });
  for (const other of [null, "text", {}, { secrets: [] }, { secrets: "0198-a@3" }])
    expect(readSecretsOf({ body: other })).toBeUndefined();
});
