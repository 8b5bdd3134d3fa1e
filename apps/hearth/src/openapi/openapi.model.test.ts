import { expect, test } from "vitest";
import { routes } from "../routes.ts";
import { startTestServer, tiny } from "../test/start-test-server.ts";
import type { OpenApiDocument } from "./create-document.ts";

function templateOf(path: string): string {
  return path.replace("*", "{model}").replaceAll(/:(\w+)/gu, "{$1}");
}

test("every route is in exactly one document, with the schema that validates its body", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const documented: string[] = [];
  for (const name of ["ollama", "openai", "anthropic"]) {
    const response = await fetch(`${server.url}/openapi/${name}.json`);
    // Checked below.
    const { openapi, paths } = (await response.json()) as OpenApiDocument;
    expect(openapi).toBe("3.1.0");
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const hasBody = JSON.stringify(operation).includes('"requestBody"');
        documented.push(`${method.toUpperCase()} ${path} ${hasBody}`);
      }
    }
  }
  const expected = routes.map(
    ({ method, path, body, bodySchema }) =>
      `${method} ${templateOf(path)} ${bodySchema !== undefined || body === "form"}`,
  );
  expect(documented.toSorted()).toEqual(expected.toSorted());
  expect((await fetch(`${server.url}/openapi/nothing.json`)).status).toBe(404);
});

test("the HTML page lists every path and loads no external resources", async () => {
  await using server = await startTestServer({ models: {}, script: () => [] });
  const response = await fetch(`${server.url}/openapi`);
  expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
  const page = await response.text();
  for (const { path } of routes) expect(page).toContain(templateOf(path));
  expect(page).not.toMatch(/<script|https?:\/\//);
});

test("metrics count requests and tokens by route, and never contain request content", async () => {
  await using server = await startTestServer({
    models: { tiny },
    script: () => [
      { do: "write", text: "Hello" },
      { do: "end", reason: "stop" },
    ],
  });
  const body = JSON.stringify({ model: "tiny", prompt: "canary-17", stream: false });
  expect((await fetch(`${server.url}/api/generate`, { method: "POST", body })).status).toBe(200);
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toContain('hearth_requests_total{route="POST /api/generate",status="200"} 1');
  expect(text).toMatch(/hearth_tokens_total\{kind="output"\} 1/);
  expect(text).toMatch(/hearth_models_loaded 1/);
  expect(text).not.toContain("canary-17");
});
