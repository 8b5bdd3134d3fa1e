import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestServer, tiny } from "../test/start-test-server.ts";
import type { ApiDocument } from "./describe-api.ts";

function templateOf(path: string): string {
  return path.replace("*", "{model}").replaceAll(/:(\w+)/gu, "{$1}");
}

test("every row of the table is in exactly one family's document, with the schema its body is checked against", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const told: string[] = [];
  for (const name of ["ollama", "openai", "anthropic"]) {
    const response = await fetch(`${server.url}/openapi/${name}.json`);
    // What the test is about is whether it is so.
    const { openapi, paths } = (await response.json()) as ApiDocument;
    expect(openapi).toBe("3.1.0");
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const hasBody = JSON.stringify(operation).includes('"requestBody"');
        told.push(`${method.toUpperCase()} ${path} ${hasBody}`);
      }
    }
  }
  const expected = routes.map(
    ({ method, path, request }) => `${method} ${templateOf(path)} ${request !== undefined}`,
  );
  expect(told.toSorted()).toEqual(expected.toSorted());
  expect((await fetch(`${server.url}/openapi/nothing.json`)).status).toBe(404);
});

test("the page for people lists every path and brings nothing from elsewhere", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const response = await fetch(`${server.url}/openapi`);
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  const page = await response.text();
  for (const { path } of routes) expect(page).toContain(templateOf(path));
  expect(page).not.toMatch(/<script|https?:\/\//);
});

test("metrics count requests and tokens by row, and never show what a caller wrote", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: () => [
      { do: "say", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const body = JSON.stringify({ model: "tiny", prompt: "canary-17", stream: false });
  expect((await fetch(`${server.url}/api/generate`, { method: "POST", body })).status).toBe(200);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toContain('hearth_requests_total{route="POST /api/generate",status="200"} 1');
  expect(text).toMatch(/hearth_tokens_total\{kind="written"\} 1/);
  expect(text).toMatch(/hearth_models_loaded 1/);
  expect(text).not.toContain("canary-17");
});
