import { createServer } from "node:http";
import { findFreePort } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { startTestKeep } from "../test/start-test-keep.ts";

test("the console's form-action policy includes a provider's authorization endpoint on another origin", async () => {
  const port = await findFreePort();
  const issuer = `http://localhost:${port}`;
  const elsewhere = "https://people.example.com";
  const provider = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${elsewhere}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      }),
    );
  });
  await new Promise<void>((resolve) => provider.listen(port, "localhost", resolve));
  try {
    const settings = { generalIssuer: issuer, generalClientId: "keep", generalClientSecret: "secret" };
    await using keep = await startTestKeep({ settings });
    const policy = async () => (await keep.request("/")).headers.get("content-security-policy");
    await expect.poll(policy, { timeout: 20_000 }).toContain(`form-action 'self' ${issuer} ${elsewhere};`);
    expect(await policy()).toContain("trusted-types 'none'");
  } finally {
    await new Promise((resolve) => provider.close(resolve));
  }
});

test("a browser gets a page for a path that no route has, and a program a problem document", async () => {
  await using keep = await startTestKeep();
  const get = async (path: string, accept: string) => {
    const response = await keep.request(path, { headers: { accept } });
    return [response.status, response.headers.get("content-type"), await response.text()];
  };
  const html = "text/html,application/xhtml+xml,*/*;q=0.8";
  const page = [404, "text/html; charset=utf-8", expect.stringContaining("<h1>Page not found</h1>")];
  for (const path of ["/nonsense", "/nonsense/page"]) expect(await get(path, html)).toEqual(page);
  const problem = [404, "application/problem+json; charset=utf-8", expect.stringContaining("not_found")];
  for (const accept of ["*/*", "application/json"]) expect(await get("/nonsense", accept)).toEqual(problem);
  // A route decides itself about what it does not find.
  expect(await get("/console/nonsense.js", html)).toEqual(problem);
});
