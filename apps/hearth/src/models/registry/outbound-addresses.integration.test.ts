import { readFile } from "node:fs/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { beforeAll, expect, test } from "vitest";
import type { AddressCase, AddressFile } from "./test/fake-internet.ts";
import { runInNetworkNamespace } from "./test/network-namespace.ts";
import type { ProbedAddresses, ProbedCase } from "./test/probe-addresses.ts";

const minHostile = 150;
const minGood = 50;
const registryAddress = "203.0.114.10:443";
const secondAddress = "203.0.114.20:443";

let file: AddressFile;
let probed: ProbedAddresses;

beforeAll(async () => {
  // A reviewed file next to this one.
  file = JSON.parse(await readFile(fileUrl("fixtures/outbound-addresses.json"), "utf8")) as AddressFile;
  // Printed by our own program.
  probed = JSON.parse(await runInNetworkNamespace(fileUrl("test/probe-addresses.ts"))) as ProbedAddresses;
}, 120_000);

test("no malicious address, redirect or realm makes us connect anywhere but to its sender", () => {
  const broken = file.hostile.flatMap((current, index) => describeHostile(current, probed.hostile[index]));
  expect(broken).toEqual([]);
  expect(probed.late).toEqual([]);
  const distinct = new Set(file.hostile.map(identityOf)).size;
  expect(distinct).toBeGreaterThanOrEqual(minHostile);
  const reached = file.hostile.filter(
    (current, index) => canariesOf(current, probed.hostileByOrdinaryClient[index]).length > 0,
  ).length;
  // Otherwise the canaries would prove nothing.
  expect(reached).toBeGreaterThanOrEqual(minHostile);
  recordFigure({
    claim: "store 6",
    text: `0 connections to canaries from ${distinct} malicious addresses, redirects and realms (${minHostile} needed); an ordinary client connects in ${reached} cases`,
    counted: { reached: distinct, needed: minHostile },
  });
});

test("every valid address, redirect and realm is served by the address that was checked", () => {
  const broken = file.good.flatMap((current, index) => {
    const { hasResponse, at, reason } = probed.good[index] ?? notProbed;
    return hasResponse && at === current.reaches ? [] : [`${nameOf(current)}: ${at} ${reason}`];
  });
  expect(broken).toEqual([]);
  const distinct = new Set(file.good.map(identityOf)).size;
  expect(distinct).toBeGreaterThanOrEqual(minGood);
  recordFigure({
    claim: "store 6",
    text: `${distinct} valid ones responded (${minGood} needed)`,
    counted: { reached: distinct, needed: minGood },
  });
});

const notProbed: ProbedCase = { hasResponse: false, reason: "not probed", at: "", connections: [] };

function describeHostile(current: AddressCase, result: ProbedCase = notProbed): string[] {
  const canaries = canariesOf(current, result);
  if (canaries.length > 0) return [`${nameOf(current)}: connects to ${canaries.join(", ")}`];
  // An error while connecting means that the address was not rejected.
  const isRejected =
    !result.hasResponse && !/^(?:not probed|connection|certificate|timed)/u.test(result.reason);
  return isRejected || (result.hasResponse && current.mayRespond === true)
    ? []
    : [`${nameOf(current)}: ends in ${result.at || result.reason}`];
}

function canariesOf(current: AddressCase, result: ProbedCase = notProbed): readonly string[] {
  const senders = current.url === undefined ? [registryAddress, secondAddress] : [];
  const harmless = new Set(current.mayReach ?? senders);
  return result.connections.filter((address) => !harmless.has(address));
}

function nameOf({ url, redirects, realm, location, why }: AddressCase): string {
  return `${why} (${url ?? realm ?? location ?? redirects?.join(" then ")})`;
}

function identityOf(current: AddressCase): string {
  return JSON.stringify({ ...current, why: "" });
}

function fileUrl(name: string): URL {
  return new URL(name, import.meta.url);
}
