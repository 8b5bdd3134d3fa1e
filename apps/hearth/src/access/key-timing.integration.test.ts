import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { chooseSize, recordFigure } from "@hearth-and-keep/figures";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { startTestServer } from "../test/start-test-server.ts";
import { accessKey, findKey } from "./keys.ts";

const tries = chooseSize({ ci: 4000, show: 20_000, nightly: 200_000 });
const warmUpTries = 1000;
const seed = 14;
/** Beyond it a difference is a leak; with equal times, about one of 150,000 runs exceeds it by chance. */
const maxT = 4.5;
/** The slowest samples are interruptions, not comparisons. */
const keptShare = 0.95;
/** One call takes about as long as reading the clock, so a sample is the time of several. */
const callsPerSample = 8;

const alphabet = "abcdefghijklmnopqrstuvwxyz0123456789";
const keyLength = 64;
/** How many of the first bytes are right in one of the two kinds of keys. */
const rightBytes = 48;

/** How much slower the leaky server is for each right byte; over HTTP, a few nanoseconds are lost in the noise. */
const leakMicroseconds = 0.2;

type Try = { readonly credential: string; readonly isRightStart: boolean };

const [rightKey = ""] = sampleTexts(keyLength, 1);

/** Pairs of a key that starts like the right one and a key that does not, in random order. */
function pairTries(count: number): readonly Try[] {
  const pairs = count / 2;
  const ends = sampleTexts(keyLength - rightBytes, count);
  const wrongStarts = sampleTexts(rightBytes, count).filter((text) => text[0] !== rightKey[0]);
  const isRightFirst = fc.sample(fc.noBias(fc.boolean()), { seed, numRuns: pairs });
  return isRightFirst.flatMap((isFirst, index): Try[] => {
    const [one = "", other = ""] = ends.slice(2 * index, 2 * index + 2);
    const right = { credential: join(rightKey.slice(0, rightBytes), one), isRightStart: true };
    const wrong = { credential: join(wrongStarts[index] ?? "", other), isRightStart: false };
    return isFirst ? [right, wrong] : [wrong, right];
  });
}

/** Prepared once: while they are, the server would close an idle connection. */
const prepared = { warmUp: pairTries(warmUpTries), measured: pairTries(tries) };

function sampleTexts(length: number, count: number): readonly string[] {
  const text = fc.string({
    unit: fc.constantFrom(...alphabet.split("")),
    minLength: length,
    maxLength: length,
  });
  return fc.sample(text, { seed: seed + length, numRuns: count });
}

/** A string like one that was received. V8 would copy a concatenated one when it is used first, which takes time. */
function join(start: string, end: string): string {
  return Buffer.from(start + end, "latin1").toString("latin1");
}

type Sample = { readonly microseconds: number; readonly isRightStart: boolean };

/** Welch's t of the two kinds of keys, without the slowest samples of both together. */
function compareKinds(samples: readonly Sample[]): number {
  const sorted = samples.map(({ microseconds }) => microseconds).toSorted((a, b) => a - b);
  const limit = sorted[Math.floor(sorted.length * keptShare)] ?? Number.POSITIVE_INFINITY;
  const kept = samples.filter(({ microseconds }) => microseconds < limit);
  const right = summarize(kept.filter(({ isRightStart }) => isRightStart));
  const wrong = summarize(kept.filter(({ isRightStart }) => !isRightStart));
  return (right.mean - wrong.mean) / Math.sqrt(right.squaredError + wrong.squaredError);
}

function summarize(samples: readonly Sample[]): { readonly mean: number; readonly squaredError: number } {
  const sum = samples.reduce((total, { microseconds }) => total + microseconds, 0);
  const mean = sum / samples.length;
  const squares = samples.reduce((total, { microseconds }) => total + (microseconds - mean) ** 2, 0);
  return { mean, squaredError: squares / (samples.length - 1) / samples.length };
}

function timeCalls(compare: (credential: string) => unknown): readonly Sample[] {
  const run = ({ credential, isRightStart }: Try): Sample => {
    const startedAt = performance.now();
    for (let call = 0; call < callsPerSample; call += 1) compare(credential);
    return { microseconds: (performance.now() - startedAt) * 1000, isRightStart };
  };
  for (const each of prepared.warmUp) run(each);
  return prepared.measured.map(run);
}

/** Sends all requests over one connection, each after the response to the one before. */
async function timeRequests(url: string): Promise<readonly Sample[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  await once(socket, "connect");
  const run = async ({ credential, isRightStart }: Try): Promise<Sample> => {
    const startedAt = performance.now();
    const response = await exchange(socket, credential);
    const microseconds = (performance.now() - startedAt) * 1000;
    expect(response).toMatch(/^HTTP\/1\.1 401 /u);
    return { microseconds, isRightStart };
  };
  for (const each of prepared.warmUp) await run(each);
  const samples: Sample[] = [];
  for (const each of prepared.measured) samples.push(await run(each));
  socket.destroy();
  return samples;
}

/** Returns the bytes up to the end of the body, whose length the head declares. */
function exchange(socket: Socket, credential: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let received = "";
  const finish = (): void => {
    socket.off("data", read).off("close", fail);
    resolve(received);
  };
  const fail = (): void => reject(new Error(`the connection was closed after "${received}"`));
  const read = (chunk: Buffer): void => {
    received += chunk.toString("latin1");
    const [head = "", body] = received.split("\r\n\r\n", 2);
    if (body !== undefined && body.length >= Number(/^content-length: (\d+)/imu.exec(head)?.[1])) finish();
  };
  socket.on("data", read).once("close", fail);
  socket.write(`GET /api/version HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${credential}\r\n\r\n`);
  return promise;
}

/** Stops at the first wrong byte, as the comparison of two strings may. */
function compareLeakily(credential: string): boolean {
  for (let index = 0; index < rightKey.length; index += 1) {
    if (credential.charCodeAt(index) !== rightKey.charCodeAt(index)) return false;
  }
  return true;
}

/** A server whose comparison takes time for each byte up to the first wrong one. */
async function startLeakyServer(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(({ headers }, response) => {
    const credential = headers.authorization?.replace("Bearer ", "") ?? "";
    const wrongAt = rightKey.split("").findIndex((letter, index) => credential[index] !== letter);
    const endsAt = performance.now() + (wrongAt * leakMicroseconds) / 1000;
    while (performance.now() < endsAt) continue;
    response.writeHead(401, { "content-length": 2 }).end("no");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const keys = [accessKey("one", rightKey), accessKey("two", alphabet)];

test("only hashes of equal length are compared, and of all tries with wrong keys none is accepted", () => {
  expect(Buffer.from(keys[0]?.sha256 ?? [])).toEqual(createHash("sha256").update(rightKey).digest());
  expect(findKey(keys, rightKey)?.name).toBe("one");
  const accepted = prepared.measured.filter(({ credential }) => findKey(keys, credential) !== undefined);
  expect(accepted).toEqual([]);
});

test("the time of the key comparison does not depend on how many of the first bytes are right", {
  timeout: 600_000,
}, () => {
  const t = compareKinds(timeCalls((credential) => findKey(keys, credential)));
  const leaky = compareKinds(timeCalls(compareLeakily));
  expect(leaky).toBeGreaterThan(maxT);
  expect(Math.abs(t)).toBeLessThan(maxT);
  recordFigure({
    claim: "guard 9",
    text: `M14: key comparison, ${tries} tries of keys with right and wrong first bytes: |t| = ${Math.abs(t).toFixed(2)} (needed below ${maxT}); a comparison that stops at the first wrong byte: |t| = ${leaky.toFixed(0)}`,
    counted: { reached: tries, needed: tries },
  });
});

test("the time of a response to a wrong key does not depend on how many of the first bytes are right", {
  timeout: 1_200_000,
}, async () => {
  await using server = await startTestServer({
    models: {},
    script: () => [],
    access: { keys },
    discardsLog: true,
  });
  await using leakyServer = await startLeakyServer();
  const t = compareKinds(await timeRequests(server.url));
  const leaky = compareKinds(await timeRequests(leakyServer.url));
  expect(leaky).toBeGreaterThan(maxT);
  expect(Math.abs(t)).toBeLessThan(maxT);
  recordFigure({
    claim: "guard 9",
    text: `M14: ${tries} requests over one loopback connection with keys whose first bytes are right or wrong: |t| = ${Math.abs(t).toFixed(2)} (needed below ${maxT}); a server that leaks ${(rightBytes * leakMicroseconds).toFixed(1)} µs: |t| = ${leaky.toFixed(0)}`,
    counted: { reached: tries, needed: tries },
  });
});
