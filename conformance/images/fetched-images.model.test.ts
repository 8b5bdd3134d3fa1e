import { beforeAll, expect, test } from "vitest";
import { runInNetworkNamespace } from "../../apps/hearth/src/models/registry/test/network-namespace.ts";
import type { FetchedImage } from "./fetch-images.ts";

const paths = ["/v1/chat/completions", "/v1/responses", "/alt/v1/messages"];
let fetched: readonly FetchedImage[];

beforeAll(async () => {
  // Printed by that program.
  fetched = JSON.parse(await runInNetworkNamespace(new URL("fetch-images.ts", import.meta.url)));
}, 120_000);

const resultsOf = (host: string) => fetched.filter((each) => each.host === host);

test("an image from a host in --image-hosts is fetched once and reaches the model", () => {
  expect(resultsOf("images.test.example")).toMatchObject(
    paths.map((path) => ({ path, status: 200, tokens: 16, asked: ["images.test.example"] })),
  );
});

test("an image from another host is rejected, and that host receives no request", () => {
  const unlisted = resultsOf("elsewhere.test.example");
  expect(unlisted).toMatchObject(paths.map((path) => ({ path, status: 400, asked: [] })));
  for (const { text } of unlisted) expect(text).toContain("--image-hosts");
});

test("a host in --image-hosts with a private address is rejected and receives no request", () => {
  const privateHost = resultsOf("private.test.example");
  expect(privateHost).toMatchObject(paths.map((path) => ({ path, status: 400, asked: [] })));
  for (const { text } of privateHost) expect(text).toContain("private address");
});
