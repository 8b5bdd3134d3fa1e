import { recordFigure } from "@hearth-and-keep/figures";
import { OutboundError, type OutboundReason } from "@hearth-and-keep/outbound-http";
import { beforeAll, expect, test } from "vitest";
import { runInNetworkNamespace } from "../models/registry/test/network-namespace.ts";
import { createImageFetcher, type ImageFetcherOptions } from "./fetch-image.ts";
import type { WalkedImages } from "./test/walk-image-addresses.ts";

const minHostile = 150;
const minGood = 50;

let walked: WalkedImages;

beforeAll(async () => {
  const program = new URL("test/walk-image-addresses.ts", import.meta.url);
  // The output of that program.
  walked = JSON.parse(await runInNetworkNamespace(program)) as WalkedImages;
}, 120_000);

test("no hostile image URL causes a connection, even if its host is listed", () => {
  for (const cases of [walked.unlisted, walked.listed]) {
    expect(cases.filter(({ connections }) => connections.length > 0)).toEqual([]);
    expect(cases.filter(({ at, mayRespond }) => at !== "" && !mayRespond)).toEqual([]);
  }
  const { length } = walked.listed;
  expect(length).toBeGreaterThanOrEqual(minHostile);
  recordFigure({
    claim: "engines 9",
    text: `0 connections to canaries from ${length} hostile image URLs, of ${minHostile} required`,
    counted: { reached: length, needed: minHostile },
  });
});

test("images are not fetched from hosts that are not listed", () => {
  const { length } = walked.good;
  expect(walked.unlistedGood.filter(({ reason }) => reason.includes("--image-hosts"))).toHaveLength(length);
});

test("an image at a public address of a listed host is fetched, with at most three redirects", () => {
  expect(walked.good.filter(({ at, reaches }) => at !== reaches)).toEqual([]);
  const { length } = walked.good;
  expect(length).toBeGreaterThanOrEqual(minGood);
  recordFigure({
    claim: "engines 9",
    text: `${length} valid image URLs fetched, of ${minGood} required`,
    counted: { reached: length, needed: minGood },
  });
});

const requested: string[] = [];

/** Mock responses by URL; no connection is opened. */
function mockOutbound(
  responses: Readonly<
    Record<string, { readonly status: number; readonly location?: string } | OutboundReason>
  >,
): ImageFetcherOptions["outbound"] {
  requested.length = 0;
  return {
    request: (url) => {
      requested.push(url.href);
      const response = responses[url.href] ?? { status: 404 };
      if (typeof response === "string") return Promise.reject(new OutboundError(url.host, response));
      return Promise.resolve({
        status: response.status,
        headers: { location: response.location },
        url,
        body: (async function* () {})(),
        readAll: () => Promise.resolve(Buffer.from(url.href)),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  };
}

const fetchWith = async (url: string, outbound: ImageFetcherOptions["outbound"]): Promise<string> => {
  const hosts = ["images.example", "other.example:8443"];
  const fetched = await createImageFetcher({ hosts, outbound })(url, {
    maxBytes: 100,
    signal: new AbortController().signal,
  });
  return "reason" in fetched ? fetched.reason : fetched.toString();
};

test.each([
  ["https://images.example/a.png", "https://images.example/a.png"],
  ["https://IMAGES.example:443/a.png", "https://images.example/a.png"],
  ["https://other.example:8443/a.png", "https://other.example:8443/a.png"],
  ["https://images.example:8443/a.png", "--image-hosts"],
  ["https://other.example/a.png", "--image-hosts"],
  ["https://a.images.example/a.png", "--image-hosts"],
  ["https://images.example./a.png", "--image-hosts"],
  ["https://me:secret@images.example/a.png", "contains credentials"],
  ["http://images.example/a.png", "must be an https URL"],
  ["file:///etc/hostname", "must be an https URL"],
  ["https://", "is not a valid URL"],
])("fetching %s yields %s", async (url, expected) => {
  const outbound = mockOutbound({ [expected]: { status: 200 } });
  expect(await fetchWith(url, outbound)).toContain(expected);
  expect(requested).toHaveLength(expected.startsWith("https://") ? 1 : 0);
});

const hop = (count: number) => `https://images.example/${count}`;

test("each of at most three redirects must lead to a listed host", async () => {
  const hops = Object.fromEntries(
    [1, 2, 3, 4].map((count) => [hop(count), { status: 302, location: hop(count - 1) }]),
  );
  const outbound = mockOutbound({ ...hops, [hop(0)]: { status: 200 } });
  expect(await fetchWith(hop(3), outbound)).toBe(hop(0));
  expect(await fetchWith(hop(4), outbound)).toContain("more than 3 redirects");
  const unlisted = mockOutbound({ [hop(1)]: { status: 302, location: "https://elsewhere.example/" } });
  expect(await fetchWith(hop(1), unlisted)).toContain('redirects to the host "elsewhere.example"');
  expect(requested).toEqual([hop(1)]);
});

test("the reason for a failed fetch contains no system error", async () => {
  const url = "https://images.example/a.png";
  expect(await fetchWith(url, mockOutbound({}))).toContain("status 404");
  expect(await fetchWith(url, mockOutbound({ [url]: "address-forbidden" }))).toContain("private address");
  expect(await fetchWith(url, mockOutbound({ [url]: "timed-out" }))).toContain("timed out after 10 seconds");
});

test("a client that disconnects causes an abort, not a timeout", async () => {
  const aborted = AbortSignal.abort(new DOMException("gone", "AbortError"));
  const outbound = mockOutbound({ "https://images.example/": "connection-broken" });
  const fetching = createImageFetcher({ hosts: ["images.example"], outbound })("https://images.example/", {
    maxBytes: 1,
    signal: aborted,
  });
  await expect(fetching).rejects.toMatchObject({ name: "AbortError" });
});
