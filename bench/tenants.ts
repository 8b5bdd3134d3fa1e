import { execFile, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { generateToken } from "../apps/keep/src/tokens/token-format.ts";
import type { KeepFixture, Owner } from "./keep-fixture.ts";

const attackProcess = fileURLToPath(new URL("./attack-process.ts", import.meta.url));
const pacedLoadProcess = fileURLToPath(new URL("./paced-load-process.ts", import.meta.url));

export type AttackRequest = {
  readonly method: string;
  readonly path: string;
  readonly authorization?: string;
  readonly body?: string;
};

export type Attack = {
  readonly name: string;
  readonly connections: number;
  /**
   * The share of the time that each connection waits for a response; then it pauses. Attacks that never paused would
   * measure how fast the machine is, and not how Keep divides it.
   */
  readonly busyShare: number;
  /** Sent in turn. */
  readonly requests: readonly AttackRequest[];
  readonly readsResponses: boolean;
  /** At least one response has one of these statuses; "unread" stands for a response that was not read. */
  readonly expected: readonly string[];
};

export type AttackPlan = { readonly port: number; readonly attacks: readonly Attack[] };

export type PacedPlan = {
  readonly port: number;
  readonly authorization: string;
  /** Sent in turn. */
  readonly requests: readonly { readonly method: string; readonly path: string; readonly body?: string }[];
  readonly perSecond: number;
  readonly seconds: number;
};

export type PacedLoad = {
  readonly statuses: Readonly<Record<string, number>>;
  /** Responses of /readyz other than 200. */
  readonly notReady: number;
  readonly p50: number;
  readonly p99: number;
};

/** Responses by attack and status. */
export type AttackCounts = Readonly<Record<string, Readonly<Record<string, number>>>>;

const folderSecrets = 3000;
const importedSecrets = 1000;
const patterns = 100;
const writers = 12;
const largeSecret = {
  type: "file",
  encoding: "base64",
  value: Buffer.alloc(1024 * 1024, "keep").toString("base64"),
};
/** Until the attacks run at their rates. */
const leadMilliseconds = 500;

type Attacker = {
  readonly vault: string;
  readonly token: string;
  /** Creates a token with this grant; returns the Authorization header. */
  readonly addToken: (grant?: object) => Promise<string>;
};

/** What one account can do within its limits. Keep accepts every request, apart from the invalid tokens. */
export async function prepareAttacks(fixture: KeepFixture, owner: Owner): Promise<readonly Attack[]> {
  const { token } = owner;
  const attacker = {
    vault: `/api/secrets/vaults/${owner.vaultId}`,
    token,
    addToken: async (grant: object = {}) => {
      const body = { name: "attack", scopes: ["secrets:read", "secrets:write"], ...grant };
      const options = { method: "POST", body, token };
      return `Bearer ${(await fixture.request<{ value: string }>("/api/secrets/tokens", options)).value}`;
    },
  };
  await fillVault(fixture, attacker);
  return [
    await listWithPatterns(attacker),
    await moveFolders(attacker),
    await writeLargeValues(attacker),
    await writeInParallel(attacker),
    await ignoreResponses(attacker),
    sendInvalidTokens(),
  ];
}

/** A folder with many secrets, and one whose values are a response too large for the buffers of a connection. */
async function fillVault({ request }: KeepFixture, { vault, token }: Attacker): Promise<void> {
  for (let first = 0; first < folderSecrets; first += importedSecrets) {
    const lines = Array.from({ length: importedSecrets }, (_, index) => `K${first + index}=value`);
    const body = { content: lines.join("\n") };
    await request(`${vault}/import?format=dotenv&path=/folder`, { method: "POST", body, token });
  }
  for (const name of ["A", "B"]) {
    await request(`${vault}/secrets/by-path/unread/${name}`, { method: "PUT", body: largeSecret, token });
  }
}

async function listWithPatterns({ vault, addToken }: Attacker): Promise<Attack> {
  const paths = Array.from({ length: patterns }, (_, index) => `/*/${"x".repeat(900)}${index}/**`);
  const authorization = await addToken({ paths });
  return {
    name: "path patterns",
    connections: 10,
    busyShare: 0.1,
    requests: [{ method: "GET", path: `${vault}/secrets?recursive=true`, authorization }],
    readsResponses: true,
    expected: ["200"],
  };
}

async function moveFolders({ vault, addToken }: Attacker): Promise<Attack> {
  const authorization = await addToken();
  const move = (from: string, to: string) => ({
    method: "POST",
    path: `${vault}/folders/move`,
    authorization,
    body: JSON.stringify({ from, to }),
  });
  return {
    name: "folder moves",
    connections: 1,
    busyShare: 0.5,
    requests: [move("/folder", "/moved"), move("/moved", "/folder")],
    readsResponses: true,
    expected: ["200"],
  };
}

function putRequest(vault: string, path: string, body: object): Omit<AttackRequest, "authorization"> {
  return { method: "PUT", path: `${vault}/secrets/by-path/${path}`, body: JSON.stringify(body) };
}

async function writeLargeValues({ vault, addToken }: Attacker): Promise<Attack> {
  const authorization = await addToken();
  return {
    name: "values of 1 MiB",
    connections: 2,
    busyShare: 0.25,
    requests: Array.from({ length: 20 }, (_, index) => ({
      ...putRequest(vault, `large/${index}`, largeSecret),
      authorization,
    })),
    readsResponses: true,
    expected: ["200", "201"],
  };
}

async function writeInParallel({ vault, addToken }: Attacker): Promise<Attack> {
  const tokens: string[] = [];
  for (let count = 0; count < writers; count += 1) tokens.push(await addToken());
  // Ten secrets for each token, because a secret has at most 100 versions.
  const requests = Array.from({ length: 10 }, (_, index) =>
    tokens.map((authorization, writer) => ({
      ...putRequest(vault, `written/${writer}-${index}`, { value: "x" }),
      authorization,
    })),
  );
  return {
    name: `${writers} parallel writers`,
    connections: writers,
    busyShare: 0.25,
    requests: requests.flat(),
    readsResponses: true,
    expected: ["200", "201"],
  };
}

async function ignoreResponses({ vault, addToken }: Attacker): Promise<Attack> {
  const authorization = await addToken();
  return {
    name: "unread responses",
    connections: 1,
    busyShare: 0.25,
    requests: [{ method: "GET", path: `${vault}/values?path=/unread`, authorization }],
    readsResponses: false,
    expected: ["unread"],
  };
}

function sendInvalidTokens(): Attack {
  return {
    name: "invalid tokens",
    connections: 4,
    busyShare: 0.25,
    requests: Array.from({ length: 1000 }, () => ({
      method: "GET",
      path: "/api/secrets/vaults",
      authorization: `Bearer ${generateToken()}`,
    })),
    readsResponses: true,
    expected: ["401", "429"],
  };
}

/** Runs the attacks in a process of their own while the work runs. */
export async function attackDuring<Result>(
  plan: AttackPlan,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly counts: AttackCounts }> {
  const child = spawn(process.execPath, [attackProcess], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.stdin.write(`${JSON.stringify(plan)}\n`);
  try {
    await lines.next();
    await sleep(leadMilliseconds);
    const result = await work();
    child.stdin.end();
    const { value: counts = "" } = await lines.next();
    // Printed by attack-process.ts.
    return { result, counts: JSON.parse(counts) as AttackCounts };
  } finally {
    child.stdin.end();
  }
}

export async function sendPaced(plan: PacedPlan): Promise<PacedLoad> {
  const running = promisify(execFile)(process.execPath, [pacedLoadProcess]);
  running.child.stdin?.end(JSON.stringify(plan));
  // Printed by paced-load-process.ts.
  return JSON.parse((await running).stdout) as PacedLoad;
}
