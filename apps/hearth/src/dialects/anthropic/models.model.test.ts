import { expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import { startTestServer } from "../../test/start-test-server.ts";

test("an empty store returns an empty list of models", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const response = await fetch(`${server.url}/alt/v1/models`);
  expect(await response.json()).toEqual({ data: [], has_more: false, first_id: null, last_id: null });
});

test("an invalid limit is rejected", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const statusOf = async (limit: string) =>
    (await fetch(`${server.url}/alt/v1/models?limit=${limit}`)).status;
  expect(await statusOf("1000")).toBe(200);
  for (const limit of ["0", "1001", "x", "1.5"]) expect(await statusOf(limit)).toBe(400);
});

test("on a path that two APIs share, errors have the format of the client's API", async () => {
  const access = { keys: [accessKey("only", "right")] };
  await using server = await startTestServer({ models: {}, script: () => [], access });
  const refusalOf = async (headers: Readonly<Record<string, string>>) =>
    (await fetch(`${server.url}/v1/models`, { headers })).json();
  expect(await refusalOf({ "anthropic-version": "2023-06-01" })).toMatchObject({
    type: "error",
    error: { type: "authentication_error" },
  });
  expect(await refusalOf({})).toMatchObject({ error: { code: "invalid_api_key" } });
});
