import Anthropic from "@anthropic-ai/sdk";
import { expect, test } from "vitest";
import { accessKey } from "../../access/keys.ts";
import { smol, startTestServer, tiny } from "../../test/start-test-server.ts";

test("the official client lists models by page and retrieves one", async () => {
  await using server = await startTestServer({
    models: { smol, tiny, "team/third:v1": tiny },
    script: () => [],
  });
  const client = new Anthropic({ baseURL: `${server.url}/alt`, apiKey: "any", maxRetries: 0 });
  const names: string[] = [];
  for await (const { id } of client.models.list({ limit: 1 })) names.push(id);
  expect(names.toSorted()).toEqual(["smol:latest", "team/third:v1", "tiny:latest"]);
  const page = await client.models.list();
  expect([page.has_more, page.first_id, page.last_id]).toEqual([false, names[0], names[2]]);
  const before = await client.models.list({ before_id: names[2] ?? "", limit: 1 });
  expect([before.has_more, before.data[0]?.id]).toEqual([true, names[1]]);
  expect(await client.models.retrieve("team/third:v1")).toMatchObject({
    type: "model",
    id: "team/third:v1",
    display_name: "team/third:v1",
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/u),
    max_input_tokens: expect.any(Number),
  });
  expect((await client.models.retrieve("smol")).id).toBe("smol:latest");
});

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
