import { readFile } from "node:fs/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { beforeAll, expect, test } from "vitest";
import type { AddressCase, AddressFile } from "./test/forged-world.ts";
import { runInOwnNetwork } from "./test/own-network.ts";
import type { WalkedAddresses, WalkedCase } from "./test/walk-addresses.ts";

const leastHostile = 150;
const leastGood = 50;
const registryAddress = "203.0.114.10:443";
const secondAddress = "203.0.114.20:443";

let file: AddressFile;
let walked: WalkedAddresses;

beforeAll(async () => {
  // Reviewed, and beside this file.
  file = JSON.parse(await readFile(placeOf("fixtures/outbound-addresses.json"), "utf8")) as AddressFile;
  // Printed by the program below.
  walked = JSON.parse(await runInOwnNetwork(placeOf("test/walk-addresses.ts"))) as WalkedAddresses;
}, 120_000);

test("no hostile address, redirect or realm makes us connect to anything but who sent us there", () => {
  const broken = file.hostile.flatMap((current, index) => describeHostile(current, walked.hostile[index]));
  expect(broken).toEqual([]);
  expect(walked.late).toEqual([]);
  const distinct = new Set(file.hostile.map(identityOf)).size;
  expect(distinct).toBeGreaterThanOrEqual(leastHostile);
  const reached = file.hostile.filter(
    (current, index) => canariesOf(current, walked.hostileByOrdinaryClient[index]).length > 0,
  ).length;
  // Else the canaries prove nothing.
  expect(reached).toBeGreaterThanOrEqual(leastHostile);
  recordFigure({
    claim: "store 6",
    text: `0 connections to canaries by ${distinct} hostile addresses, redirects and realms of ${leastHostile} needed; an ordinary client reaches them by ${reached}`,
    counted: { reached: distinct, needed: leastHostile },
  });
});

test("every good address, redirect and realm is answered by the address that was checked", () => {
  const broken = file.good.flatMap((current, index) => {
    const { isAnswered, at, reason } = walked.good[index] ?? nothing;
    return isAnswered && at === current.reaches ? [] : [`${nameOf(current)}: ${at} ${reason}`];
  });
  expect(broken).toEqual([]);
  const distinct = new Set(file.good.map(identityOf)).size;
  expect(distinct).toBeGreaterThanOrEqual(leastGood);
  recordFigure({
    claim: "store 6",
    text: `${distinct} good ones answered of ${leastGood} needed`,
    counted: { reached: distinct, needed: leastGood },
  });
});

const nothing: WalkedCase = { isAnswered: false, reason: "not walked", at: "", connections: [] };

function describeHostile(current: AddressCase, result: WalkedCase = nothing): string[] {
  const canaries = canariesOf(current, result);
  if (canaries.length > 0) return [`${nameOf(current)}: connects to ${canaries.join(", ")}`];
  // What fails only while connecting was not refused.
  const isRefused =
    !result.isAnswered && !/^(?:not walked|connection|certificate|timed)/u.test(result.reason);
  return isRefused || (result.isAnswered && current.mayAnswer === true)
    ? []
    : [`${nameOf(current)}: ends in ${result.at || result.reason}`];
}

function canariesOf(current: AddressCase, result: WalkedCase = nothing): readonly string[] {
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

function placeOf(name: string): URL {
  return new URL(name, import.meta.url);
}
