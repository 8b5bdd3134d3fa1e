import { beforeAll, expect, test } from "vitest";
import { runInNetworkNamespace } from "../../apps/hearth/src/models/registry/test/network-namespace.ts";
import type { FetchedImage } from "./fetch-images.ts";

const ways = ["/v1/chat/completions", "/v1/responses", "/alt/v1/messages"];
let fetched: readonly FetchedImage[];

beforeAll(async () => {
  // Printed by that program.
  fetched = JSON.parse(await runInNetworkNamespace(new URL("fetch-images.ts", import.meta.url)));
}, 120_000);

const of = (host: string) => fetched.filter((each) => each.host === host);

test("an image of a host in --image-hosts is fetched once and seen by the model", () => {
  expect(of("images.test.example")).toMatchObject(
    ways.map((path) => ({ path, status: 200, tokens: 16, asked: ["images.test.example"] })),
  );
});

test("an image of another host is refused, and that host hears nothing", () => {
  const stranger = of("elsewhere.test.example");
  expect(stranger).toMatchObject(ways.map((path) => ({ path, status: 400, asked: [] })));
  for (const { text } of stranger) expect(text).toContain("--image-hosts");
});

test("a host in --image-hosts that lies at a private address is refused, and hears nothing", () => {
  const hidden = of("private.test.example");
  expect(hidden).toMatchObject(ways.map((path) => ({ path, status: 400, asked: [] })));
  for (const { text } of hidden) expect(text).toContain("private address");
});
