import { recordFigure } from "@hearth-and-keep/figures";
import { OutboundProblem, type OutboundReason } from "@hearth-and-keep/outbound-http";
import { beforeAll, expect, test } from "vitest";
import { runInOwnNetwork } from "../models/registry/test/own-network.ts";
import { createImageFetcher, type FetchImageParts } from "./fetch-image.ts";
import type { WalkedImages } from "./test/walk-image-addresses.ts";

const leastHostile = 150;
const leastGood = 50;

let walked: WalkedImages;

beforeAll(async () => {
  const program = new URL("test/walk-image-addresses.ts", import.meta.url);
  // Printed by that program.
  walked = JSON.parse(await runInOwnNetwork(program)) as WalkedImages;
}, 120_000);

test("no hostile address of an image makes us connect anywhere, not even when its host is on the list", () => {
  for (const cases of [walked.unlisted, walked.listed]) {
    expect(cases.filter(({ connections }) => connections.length > 0)).toEqual([]);
    expect(cases.filter(({ at, mayAnswer }) => at !== "" && !mayAnswer)).toEqual([]);
  }
  const { length } = walked.listed;
  expect(length).toBeGreaterThanOrEqual(leastHostile);
  recordFigure({
    claim: "engines 9",
    text: `0 connections to canaries by ${length} hostile addresses of images, of ${leastHostile} needed`,
    counted: { reached: length, needed: leastHostile },
  });
});

test("no image is fetched from a host that is not on the list", () => {
  const { length } = walked.good;
  expect(walked.strangers.filter(({ problem }) => problem.includes("--image-hosts"))).toHaveLength(length);
});

test("an image at a public address of a host on the list is fetched, over at most three redirects", () => {
  expect(walked.good.filter(({ at, reaches }) => at !== reaches)).toEqual([]);
  const { length } = walked.good;
  expect(length).toBeGreaterThanOrEqual(leastGood);
  recordFigure({
    claim: "engines 9",
    text: `${length} good addresses of images fetched, of ${leastGood} needed`,
    counted: { reached: length, needed: leastGood },
  });
});

const asked: string[] = [];

/** Says what the world would; no connection is opened. */
function answering(
  answers: Readonly<Record<string, { readonly status: number; readonly location?: string } | OutboundReason>>,
): FetchImageParts["outbound"] {
  asked.length = 0;
  return {
    request: (url) => {
      asked.push(url.href);
      const answer = answers[url.href] ?? { status: 404 };
      if (typeof answer === "string") return Promise.reject(new OutboundProblem(url.host, answer));
      return Promise.resolve({
        status: answer.status,
        headers: { location: answer.location },
        url,
        body: (async function* () {})(),
        readWhole: () => Promise.resolve(Buffer.from(url.href)),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  };
}

const fetchBy = async (address: string, outbound: FetchImageParts["outbound"]): Promise<string> => {
  const hosts = ["images.example", "other.example:8443"];
  const fetched = await createImageFetcher({ hosts, outbound })(address, {
    mostBytes: 100,
    signal: new AbortController().signal,
  });
  return "problem" in fetched ? fetched.problem : fetched.toString();
};

test.each([
  ["https://images.example/a.png", "https://images.example/a.png"],
  ["https://IMAGES.example:443/a.png", "https://images.example/a.png"],
  ["https://other.example:8443/a.png", "https://other.example:8443/a.png"],
  ["https://images.example:8443/a.png", "--image-hosts"],
  ["https://other.example/a.png", "--image-hosts"],
  ["https://a.images.example/a.png", "--image-hosts"],
  ["https://images.example./a.png", "--image-hosts"],
  ["https://me:secret@images.example/a.png", "name or a password"],
  ["http://images.example/a.png", "must be an address by https"],
  ["file:///etc/hostname", "must be an address by https"],
  ["https://", "is no address"],
])("%s is answered by %s", async (address, expected) => {
  const fine = { status: 200 };
  const outbound = answering({ [expected]: fine });
  expect(await fetchBy(address, outbound)).toContain(expected);
  expect(asked).toHaveLength(expected.startsWith("https://") ? 1 : 0);
});

const step = (count: number) => `https://images.example/${count}`;

test("each of at most three redirects has to lead to a host on the list", async () => {
  const steps = Object.fromEntries(
    [1, 2, 3, 4].map((count) => [step(count), { status: 302, location: step(count - 1) }]),
  );
  const outbound = answering({ ...steps, [step(0)]: { status: 200 } });
  expect(await fetchBy(step(3), outbound)).toBe(step(0));
  expect(await fetchBy(step(4), outbound)).toContain("leads on more than 3 times");
  const away = answering({ [step(1)]: { status: 302, location: "https://elsewhere.example/" } });
  expect(await fetchBy(step(1), away)).toContain('leads on to "elsewhere.example"');
  expect(asked).toEqual([step(1)]);
});

test("why an address gives no image is told without the system's words", async () => {
  const url = "https://images.example/a.png";
  expect(await fetchBy(url, answering({}))).toContain("status 404");
  expect(await fetchBy(url, answering({ [url]: "address-forbidden" }))).toContain("private place");
  expect(await fetchBy(url, answering({ [url]: "timed-out" }))).toContain("within 10 seconds");
});

test("a caller who goes away is not told that the address was slow", async () => {
  const aborted = AbortSignal.abort(new DOMException("gone", "AbortError"));
  const outbound = answering({ "https://images.example/": "connection-broken" });
  const fetching = createImageFetcher({ hosts: ["images.example"], outbound })("https://images.example/", {
    mostBytes: 1,
    signal: aborted,
  });
  await expect(fetching).rejects.toMatchObject({ name: "AbortError" });
});
