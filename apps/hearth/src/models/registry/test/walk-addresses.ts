import { readFile } from "node:fs/promises";
import { createOutbound, type Outbound, OutboundProblem } from "@hearth-and-keep/outbound-http";
import { openRegistry } from "../registry-client.ts";
import { type AddressCase, type AddressFile, type ForgedWorld, startForgedWorld } from "./forged-world.ts";

/** What became of one line of the reviewed file. */
export type WalkedCase = {
  readonly isAnswered: boolean;
  /** Why not, in a word. */
  readonly reason: string;
  /** Who answered in the end. */
  readonly at: string;
  readonly connections: readonly string[];
};

export type WalkedAddresses = {
  readonly hostile: readonly WalkedCase[];
  readonly good: readonly WalkedCase[];
  /** The hostile ones again, by a client that follows whatever it is told. */
  readonly hostileByOrdinaryClient: readonly WalkedCase[];
  /** Connections that came when everything was over. */
  readonly late: readonly string[];
};

type Walk = (current: AddressCase, file: AddressFile) => Promise<string>;

const start = "https://registry.test.example";
const patienceMilliseconds = 3000;
const mostAnswerBytes = 4096;

/** Goes to every address of the file in a world of its own, and tells on standard output whom that reached. */
async function walkAddresses(): Promise<void> {
  const text = await readFile(new URL("../fixtures/outbound-addresses.json", import.meta.url), "utf8");
  // Reviewed, and beside this file.
  const file = JSON.parse(text) as AddressFile;
  await using world = await startForgedWorld(file);
  const walkAll = async (cases: readonly AddressCase[], walk: Walk): Promise<WalkedCase[]> => {
    const walked: WalkedCase[] = [];
    for (const current of cases) walked.push(await tell(() => walk(current, file), current, world));
    return walked;
  };
  const hostile = await walkAll(file.hostile, walkByOurs);
  const good = await walkAll(file.good, walkByOurs);
  await new Promise((settle) => setTimeout(settle, 250));
  const late = world.takeConnections();
  const hostileByOrdinaryClient = await walkAll(file.hostile, walkByOrdinary);
  const result: WalkedAddresses = { hostile, good, hostileByOrdinaryClient, late };
  process.stdout.write(JSON.stringify(result));
}

async function tell(
  walk: () => Promise<string>,
  current: AddressCase,
  world: ForgedWorld,
): Promise<WalkedCase> {
  world.stage(current);
  try {
    const at = await walk();
    return { isAnswered: true, reason: "", at, connections: world.takeConnections() };
  } catch (problem) {
    return { isAnswered: false, reason: reasonOf(problem), at: "", connections: world.takeConnections() };
  }
}

async function walkByOurs(current: AddressCase, { privateHosts }: AddressFile): Promise<string> {
  await using outbound = createOutbound({ privateHosts });
  if (current.realm !== undefined || current.location !== undefined)
    return await askRegistry(current, outbound);
  if (current.after !== undefined) {
    await using before = await outbound.request(new URL(current.after));
    await before.readWhole(mostAnswerBytes);
  }
  let at = "";
  for (let asked = 0; asked < (current.asks ?? 1); asked += 1) {
    await using answer = await outbound.request(new URL(current.url ?? `${current.start ?? start}/begin`), {
      isInsecure: current.insecure === true,
      signal: AbortSignal.timeout(patienceMilliseconds),
    });
    at = placeIn(await answer.readWhole(mostAnswerBytes));
    // A new connection asks the resolver again.
    if (current.asks !== undefined) await outbound[Symbol.asyncDispose]();
  }
  return at;
}

async function askRegistry(current: AddressCase, outbound: Outbound): Promise<string> {
  const { registry = "registry.test.example", insecure = false } = current;
  const asked = openRegistry(
    { host: registry, repository: "model", isPlain: insecure },
    { outbound, credentials: { forHost: () => ({ kind: "basic", name: "somebody", password: "secret" }) } },
  );
  const signal = AbortSignal.timeout(patienceMilliseconds);
  const target = current.location === undefined ? "manifests/latest" : new URL(current.location);
  await using answer = await asked.ask({ target, signal });
  return placeIn(await answer.readWhole(mostAnswerBytes));
}

async function walkByOrdinary(current: AddressCase): Promise<string> {
  const url = current.url ?? current.realm ?? current.location ?? `${current.start ?? start}/begin`;
  let at = "";
  for (let asked = 0; asked < (current.asks ?? 1); asked += 1) {
    const headers = { connection: "close" };
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(patienceMilliseconds) });
    at = placeIn(Buffer.from(await answer.arrayBuffer()));
  }
  return at;
}

function placeIn(content: Buffer): string {
  // Sent by the world, which says where it was dialled.
  const { at = "" } = JSON.parse(content.toString()) as { at?: string };
  return at;
}

function reasonOf(problem: unknown): string {
  if (problem instanceof OutboundProblem) return problem.reason;
  if (problem instanceof Error && problem.cause instanceof OutboundProblem) return problem.cause.reason;
  return problem instanceof Error ? problem.message : String(problem);
}

await walkAddresses();
