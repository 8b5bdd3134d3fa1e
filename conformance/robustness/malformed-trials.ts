import { IsOptional } from "typebox";
import { Check } from "typebox/value";
import { findShapeFault } from "./error-shape.ts";
import { brokenBodies, wrongBodies } from "./malformed-bodies.ts";
import { brokenMessages } from "./malformed-heads.ts";
import { sendBody, sendBytes } from "./send-bytes.ts";
import { type RowWithBody, validBodyOf } from "./valid-bodies.ts";

const atOnce = 16;

/** One malformed request; returns how its response is wrong. */
export type Trial = { readonly name: string; readonly run: () => Promise<string | undefined> };

type TrialOptions = {
  readonly url: string;
  /** Uses every nth wrong value. Their number is odd, so that with a power of two each one still occurs in some field. */
  readonly stride: number;
};

/** Runs all trials and returns the faults, each with the name of its trial. */
export async function runAll(trials: readonly Trial[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const remaining = trials[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (const { name, run } of remaining) {
      const fault = await run().catch((error: unknown) => `no response: ${String(error)}`);
      if (fault !== undefined) faults.push(`${name}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return faults;
}

/** Every nth wrong body, and all broken ones. */
export function* trialsOf(row: RowWithBody, { url, stride }: TrialOptions): Generator<Trial> {
  const wrong = [...wrongBodies(row)].filter((_body, index) => index % stride === 0);
  for (const body of wrong) yield trialOf(row, url, body);
  for (const body of brokenBodies(row)) yield trialOf(row, url, body);
  for (const { name, bytes } of brokenMessages(row.path, JSON.stringify(validBodyOf(row)))) {
    yield { name: `${row.path} ${name}`, run: async () => faultOf(await sendBytes(url, bytes)) };
  }
}

function trialOf(row: RowWithBody, url: string, body: string | Buffer): Trial {
  return {
    name: `${row.method} ${row.path} ${body.toString().slice(0, 200)}`,
    run: async () => {
      const response = await sendBody(`${url}${row.path}`, row.method, body);
      if (response.status >= 500 && response.status !== 503) return `${response.status} ${response.body}`;
      if (response.status >= 400) return findShapeFault(row.protocol.name, response);
      return isValid(row, body)
        ? undefined
        : `accepted with ${response.status} although the schema forbids it`;
    },
  };
}

function isValid({ bodySchema }: RowWithBody, body: string | Buffer): boolean {
  if (IsOptional(bodySchema) && body.toString().trim() === "") return true;
  try {
    // A byte order mark before the text may be ignored (RFC 8259, section 8.1), and is.
    return Check(bodySchema, JSON.parse(body.toString().replace(/^\ufeff/u, "")));
  } catch {
    return false;
  }
}

/** A malformed message may get one response of any format or none, but not two and not an unexpected 5xx. */
function faultOf(responses: Awaited<ReturnType<typeof sendBytes>>): string | undefined {
  if (responses.length > 1) return `${responses.length} responses to one request`;
  const [response] = responses;
  if (response === undefined || response.status < 500 || response.status === 503) return undefined;
  return `${response.status} ${response.body}`;
}
