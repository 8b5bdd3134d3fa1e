import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cacheFolder, createOnce, downloadEnvironment } from "@hearth-and-keep/test-servers";
import type { Bytes } from "../bytes.ts";

/** A question about something that this package produced; hashes are base64 in the message. */
export type OracleRequest =
  | {
      readonly kind: "inclusion" | "tiles";
      readonly size: number;
      readonly root: Bytes;
      readonly index: number;
      readonly leaf: Bytes;
      readonly proof: readonly Bytes[];
      readonly tiles?: readonly {
        readonly level: number;
        readonly index: number;
        readonly width: number;
        readonly hashes: Bytes;
      }[];
    }
  | {
      readonly kind: "consistency";
      readonly size: number;
      readonly root: Bytes;
      readonly oldSize: number;
      readonly oldRoot: Bytes;
      readonly proof: readonly Bytes[];
    }
  | { readonly kind: "note"; readonly note: string; readonly keys: readonly string[] };

export type Oracle = {
  /** One verdict per request. */
  readonly judge: (requests: readonly OracleRequest[]) => Promise<readonly boolean[]>;
  /** Trees, proofs and notes made by Go, as JSON. */
  readonly makeFixture: () => Promise<string>;
};

const run = promisify(execFile);
const sources = fileURLToPath(new URL("../../test/oracle", import.meta.url));
const buildTimeoutMilliseconds = 600_000;

/** The Go program in test/oracle, built once into the cache; undefined on a machine without Go. */
export async function openOracle(): Promise<Oracle | undefined> {
  if (!(await hasGo())) {
    process.stderr.write("Go is not installed: nothing is verified by the independent implementation\n");
    return undefined;
  }
  const digest = createHash("sha256");
  for (const name of (await readdir(sources)).toSorted()) digest.update(await readFile(join(sources, name)));
  const path = join(cacheFolder, `transparency-log-oracle-${digest.digest("hex").slice(0, 16)}`);
  const program = join(await createOnce({ path, create: build }), "oracle");
  return {
    judge: (requests) => judge(program, requests),
    makeFixture: async () => (await run(program, ["fixture"], { maxBuffer: 16 * 1024 * 1024 })).stdout,
  };
}

async function hasGo(): Promise<boolean> {
  try {
    await run("go", ["version"], { env: downloadEnvironment() });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
}

async function build(folder: string): Promise<void> {
  const work = join(folder, "work");
  await mkdir(work);
  await cp(sources, join(work, "sources"), { recursive: true });
  const env = {
    ...downloadEnvironment(),
    GOPATH: join(work, "path"),
    GOCACHE: join(work, "cache"),
    GOFLAGS: "-modcacherw -trimpath -buildvcs=false -mod=readonly",
    GOTOOLCHAIN: "local",
  };
  const options = { cwd: join(work, "sources"), env, timeout: buildTimeoutMilliseconds };
  await run("go", ["build", "-o", join(folder, "oracle"), "."], options).catch((cause) => {
    throw new Error("Cannot build the oracle: install Go 1.24 or newer and allow it to download modules", {
      cause,
    });
  });
  await rm(work, { recursive: true, force: true });
}

async function judge(program: string, requests: readonly OracleRequest[]): Promise<readonly boolean[]> {
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  const output = text(child.stdout);
  for (const request of requests) {
    if (!child.stdin.write(`${JSON.stringify(request, encodeBytes)}\n`))
      await new Promise((resolve) => child.stdin.once("drain", resolve));
  }
  child.stdin.end();
  const lines = (await output).split("\n").slice(0, -1);
  if (lines.length !== requests.length) throw new Error("The oracle did not answer every request");
  // The oracle writes one verdict per line.
  return lines.map((line) => (JSON.parse(line) as { readonly isValid: boolean }).isValid);
}

/** A Buffer has become an object before JSON.stringify passes it here. */
function encodeBytes(_: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (typeof value !== "object" || value === null || !("type" in value) || value.type !== "Buffer")
    return value;
  return "data" in value && Array.isArray(value.data) ? Buffer.from(value.data).toString("base64") : value;
}
