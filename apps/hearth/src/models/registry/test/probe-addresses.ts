import { readFile } from "node:fs/promises";
import { createOutbound, type Outbound, OutboundError } from "@hearth-and-keep/outbound-http";
import { openRegistry } from "../registry-client.ts";
import { type AddressCase, type AddressFile, type FakeInternet, startFakeInternet } from "./fake-internet.ts";

/** The result of one case of the reviewed file. */
export type ProbedCase = {
  readonly hasResponse: boolean;
  /** Why there was no response; empty when there was one. */
  readonly reason: string;
  /** The address that finally responded. */
  readonly at: string;
  readonly connections: readonly string[];
};

export type ProbedAddresses = {
  readonly hostile: readonly ProbedCase[];
  readonly good: readonly ProbedCase[];
  /** The hostile cases with plain fetch, which follows every redirect. */
  readonly hostileByOrdinaryClient: readonly ProbedCase[];
  /** Connections that arrived after all probes had finished. */
  readonly late: readonly string[];
};

type Probe = (current: AddressCase, file: AddressFile) => Promise<string>;

const start = "https://registry.test.example";
const timeoutMilliseconds = 3000;
const maxResponseBytes = 4096;

/** Requests every address of the file on the fake internet, and prints which addresses were connected to. */
async function probeAddresses(): Promise<void> {
  const text = await readFile(new URL("../fixtures/outbound-addresses.json", import.meta.url), "utf8");
  // A reviewed fixture.
  const file = JSON.parse(text) as AddressFile;
  await using internet = await startFakeInternet(file);
  const probeAll = async (cases: readonly AddressCase[], probe: Probe): Promise<ProbedCase[]> => {
    const results: ProbedCase[] = [];
    for (const current of cases) results.push(await runProbe(() => probe(current, file), current, internet));
    return results;
  };
  const hostile = await probeAll(file.hostile, probeWithOutbound);
  const good = await probeAll(file.good, probeWithOutbound);
  await new Promise((settle) => setTimeout(settle, 250));
  const late = internet.takeConnections();
  const hostileByOrdinaryClient = await probeAll(file.hostile, probeWithFetch);
  const result: ProbedAddresses = { hostile, good, hostileByOrdinaryClient, late };
  process.stdout.write(JSON.stringify(result));
}

async function runProbe(
  probe: () => Promise<string>,
  current: AddressCase,
  internet: FakeInternet,
): Promise<ProbedCase> {
  internet.configure(current);
  try {
    const at = await probe();
    return { hasResponse: true, reason: "", at, connections: internet.takeConnections() };
  } catch (error) {
    return { hasResponse: false, reason: reasonOf(error), at: "", connections: internet.takeConnections() };
  }
}

async function probeWithOutbound(current: AddressCase, { privateHosts }: AddressFile): Promise<string> {
  await using outbound = createOutbound({ privateHosts });
  if (current.realm !== undefined || current.location !== undefined)
    return await probeRegistry(current, outbound);
  if (current.after !== undefined) {
    await using before = await outbound.request(new URL(current.after));
    await before.readAll(maxResponseBytes);
  }
  let at = "";
  for (let round = 0; round < (current.attempts ?? 1); round += 1) {
    await using response = await outbound.request(new URL(current.url ?? `${current.start ?? start}/begin`), {
      allowPlainHttp: current.insecure === true,
      signal: AbortSignal.timeout(timeoutMilliseconds),
    });
    at = addressIn(await response.readAll(maxResponseBytes));
    // A new connection resolves the name again.
    if (current.attempts !== undefined) await outbound[Symbol.asyncDispose]();
  }
  return at;
}

async function probeRegistry(current: AddressCase, outbound: Outbound): Promise<string> {
  const { registry = "registry.test.example", insecure = false } = current;
  const client = openRegistry(
    { host: registry, repository: "model", isPlainHttp: insecure },
    { outbound, credentials: { forHost: () => ({ kind: "basic", name: "somebody", password: "secret" }) } },
  );
  const signal = AbortSignal.timeout(timeoutMilliseconds);
  const target = current.location === undefined ? "manifests/latest" : new URL(current.location);
  await using response = await client.request({ target, signal });
  return addressIn(await response.readAll(maxResponseBytes));
}

async function probeWithFetch(current: AddressCase): Promise<string> {
  const url = current.url ?? current.realm ?? current.location ?? `${current.start ?? start}/begin`;
  let at = "";
  for (let round = 0; round < (current.attempts ?? 1); round += 1) {
    const headers = { connection: "close" };
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(timeoutMilliseconds) });
    at = addressIn(Buffer.from(await response.arrayBuffer()));
  }
  return at;
}

function addressIn(content: Buffer): string {
  // The fake internet returns the address that was connected to.
  const { at = "" } = JSON.parse(content.toString()) as { at?: string };
  return at;
}

function reasonOf(error: unknown): string {
  if (error instanceof OutboundError) return error.reason;
  if (error instanceof Error && error.cause instanceof OutboundError) return error.cause.reason;
  return error instanceof Error ? error.message : String(error);
}

await probeAddresses();
