import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { recordFigure } from "@hearth-and-keep/figures";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { beforeAll, expect, test } from "vitest";
import type { AddressCase, AddressFile } from "./test/forged-world.ts";
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
  walked = await walkInOwnNetwork();
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

/** In a network where every address is this machine, so that whoever we connect to, it is noticed. */
async function walkInOwnNetwork(): Promise<WalkedAddresses> {
  await using folder = await makeTemporaryFolder("outbound-addresses");
  const system = {
    "resolv.conf": "nameserver 127.0.0.1\n",
    "nsswitch.conf": "hosts: files dns\n",
    hosts: "127.0.0.1 localhost\n::1 localhost\n",
  };
  for (const [name, content] of Object.entries(system)) await writeFile(join(folder.path, name), content);
  const script = [
    ...Object.keys(system).map((name) => `mount --bind '${join(folder.path, name)}' /etc/${name}`),
    "ip link set lo up",
    "ip route add local 0.0.0.0/0 dev lo",
    "ip -6 route add local ::/0 dev lo",
    `exec '${process.execPath}' '${placeOf("test/walk-addresses.ts")}'`,
  ].join(" && ");
  const child = spawn("unshare", ["--user", "--map-root-user", "--net", "--mount", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      NODE_EXTRA_CA_CERTS: placeOf("fixtures/world-certificate.pem"),
    },
  });
  const [output, problems] = await Promise.all([text(child.stdout), text(child.stderr)]);
  expect(output, problems).not.toBe("");
  // Printed by the program above.
  return JSON.parse(output) as WalkedAddresses;
}

function placeOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
