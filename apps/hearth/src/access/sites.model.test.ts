import { readFileSync } from "node:fs";
import { recordFigure } from "@hearth-and-keep/figures";
import { expect, test } from "vitest";
import { startTestServer, type TestServer } from "../test/start-test-server.ts";
import { type AllowedSites, createAllowedSites } from "./allowed-sites.ts";
import { type RawResponse, sendRaw } from "./test/raw-request.ts";

type SiteCase = {
  readonly what: string;
  readonly server: "loopback" | "open" | "configured" | "wildcard";
  readonly method: "GET" | "POST" | "DELETE";
  readonly host: string | readonly string[] | null;
  readonly origin?: string | readonly string[];
  readonly secFetchSite?: string | readonly string[];
  readonly contentType?: string;
  readonly expect: "allowed" | "forbidden" | "malformed";
};

const file = new URL("./fixtures/site-cases.json", import.meta.url);
// Reviewed by hand.
const cases = JSON.parse(readFileSync(file, "utf8")) as readonly SiteCase[];

const none = { machineName: "gpu-box", allowedHosts: [], allowedOrigins: [] };
const serverSites: Readonly<Record<SiteCase["server"], AllowedSites>> = {
  loopback: createAllowedSites({ ...none, host: "127.0.0.1" }),
  open: createAllowedSites({ ...none, host: "0.0.0.0" }),
  wildcard: createAllowedSites({ ...none, host: "127.0.0.1", allowedHosts: ["*"], allowedOrigins: ["*"] }),
  configured: createAllowedSites({
    ...none,
    host: "127.0.0.1",
    allowedHosts: ["Models.example", "pinned.example:8443", "*.lan.example"],
    allowedOrigins: ["https://chat.example", "https://*.apps.example", "chrome-extension://*", "file://"],
  }),
};

function startWith(sites: AllowedSites): Promise<TestServer> {
  return startTestServer({ models: {}, script: () => [], access: { keys: [], sites } });
}

function named(name: string, value: string | readonly string[] | null | undefined): [string, string][] {
  if (value === undefined || value === null) return [];
  return [value].flat().map((each): [string, string] => [name, each]);
}

function send(url: string, site: SiteCase): Promise<RawResponse> {
  const headers = [
    ...named("host", site.host),
    ...named("origin", site.origin),
    ...named("sec-fetch-site", site.secFetchSite),
    ...named("content-type", site.contentType),
  ];
  const { method } = site;
  if (method === "GET") return sendRaw(url, { method, path: "/api/version", headers });
  const path = method === "POST" ? "/api/show" : "/api/delete";
  return sendRaw(url, { method, path, headers, body: '{"model":"nowhere"}' });
}

/** The model does not exist, so an allowed request with a body gets 404. */
function outcomeOf(status: number): SiteCase["expect"] | number {
  const outcomes: Readonly<Record<number, SiteCase["expect"]>> = {
    200: "allowed",
    404: "allowed",
    403: "forbidden",
    400: "malformed",
  };
  return outcomes[status] ?? status;
}

test("every Host, Origin and Sec-Fetch-Site case of the reviewed file is allowed or rejected as listed", async () => {
  await using loopback = await startWith(serverSites.loopback);
  await using open = await startWith(serverSites.open);
  await using configured = await startWith(serverSites.configured);
  await using wildcard = await startWith(serverSites.wildcard);
  const servers = { loopback, open, configured, wildcard };
  const outcomes: unknown[] = [];
  for (const site of cases) {
    const { status } = await send(servers[site.server].url, site);
    outcomes.push({ what: site.what, server: site.server, outcome: outcomeOf(status) });
  }
  expect(outcomes).toEqual(cases.map(({ what, server, expect: outcome }) => ({ what, server, outcome })));
  const allowed = cases.filter((site) => site.expect === "allowed").length;
  expect(cases.length).toBeGreaterThanOrEqual(60);
  expect(allowed / cases.length).toBeGreaterThanOrEqual(0.25);
  recordFigure({
    claim: "families 5",
    text: `${cases.length} hosts and sites as listed, ${allowed} of them allowed`,
    counted: { reached: cases.length, needed: 60 },
  });
});

test("the reviewed file has no duplicate cases", () => {
  const requests = cases.map(({ what: _what, expect: _expect, ...request }) => JSON.stringify(request));
  expect(requests.filter((request, index) => requests.indexOf(request) !== index)).toEqual([]);
});
