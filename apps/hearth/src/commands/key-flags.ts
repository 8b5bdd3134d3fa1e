import type { Command } from "commander";
import type { KeySettings } from "../key-store/create-key.ts";
import type { LimitName } from "../key-store/key-store.ts";
import { callFailure } from "../server-client/call-failure.ts";

type LimitFlags = Readonly<Partial<Record<LimitName, string>>>;

export type KeyFlags = LimitFlags & {
  readonly role?: string;
  readonly models?: string;
  readonly priority?: string;
  readonly expires?: string;
};

const limitFlags = [
  ["requestsPerMinute", "--requests-per-minute <number>", "most requests in any 60 seconds"],
  ["tokensPerMinute", "--tokens-per-minute <number>", "most prompt and output tokens in any 60 seconds"],
  ["concurrentRequests", "--concurrent-requests <number>", "most requests at the same time"],
  ["tokensPerDay", "--tokens-per-day <number>", "tokens for each day, UTC"],
  ["tokensPerMonth", "--tokens-per-month <number>", "tokens for each month, UTC"],
] as const satisfies readonly (readonly [LimitName, string, string])[];

const namePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u;
const maxLimit = 1_000_000_000_000;
const maxPriority = 100;
const maxModels = 256;
const maxModelLength = 1024;
const maxDays = 36_500;
const unitMilliseconds = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function addKeyFlags(command: Command): Command {
  command
    .option("--role <role>", "inference, or admin for a key that may also change models")
    .option("--models <names>", "the only models that the key may use, comma-separated; all for every model");
  for (const [, flags, description] of limitFlags) command.option(flags, `${description}; none for no limit`);
  return command
    .option("--priority <number>", `from -${maxPriority} to ${maxPriority}; higher is served first`)
    .option(
      "--expires <time>",
      "when the key expires: in 90d, 12h or 30m, on a date as 2027-01-31, or never",
    );
}

/** Settings that no flag changes keep their value. Throws a usage error for an invalid flag. */
export function readKeyFlags(flags: KeyFlags, key: KeySettings): KeySettings {
  if (!namePattern.test(key.name)) {
    throw invalid("name", key.name, "use up to 64 letters, digits, dots, dashes and underscores");
  }
  const limits = limitFlags.map(([name, flag]) => [name, readLimit(flag, flags[name], key[name])] as const);
  const settings: KeySettings = {
    name: key.name,
    role: flags.role === undefined ? key.role : readRole(flags.role),
    models: flags.models === undefined ? key.models : readModels(flags.models),
    priority: flags.priority === undefined ? key.priority : readPriority(flags.priority),
    expiresAt: flags.expires === undefined ? key.expiresAt : readExpiry(flags.expires),
    ...Object.fromEntries(limits),
  };
  if (settings.role === "admin" && settings.models !== undefined) {
    throw invalid("--models", settings.models.join(","), "an admin key can rename models, so it may use all");
  }
  return settings;
}

function readLimit(flag: string, text: string | undefined, current: number | undefined): number | undefined {
  if (text === undefined) return current;
  if (text === "none") return undefined;
  const value = Number(text);
  if (/^\d{1,13}$/u.test(text) && value >= 1 && value <= maxLimit) return value;
  throw invalid(flag.split(" ", 1)[0] ?? flag, text, "use a number of at least 1, or none");
}

function readRole(text: string): KeySettings["role"] {
  if (text === "admin" || text === "inference") return text;
  throw invalid("--role", text, "use admin or inference");
}

function readModels(text: string): readonly string[] | undefined {
  if (text === "all") return undefined;
  const names = text.split(",").map((name) => name.trim());
  const isValid =
    names.length <= maxModels && names.every((name) => name !== "" && name.length <= maxModelLength);
  if (isValid) return names;
  throw invalid("--models", text, "use the names of models, comma-separated");
}

function readPriority(text: string): number {
  const value = Number(text);
  if (/^-?\d{1,3}$/u.test(text) && Math.abs(value) <= maxPriority) return value;
  throw invalid("--priority", text, `use a number from -${maxPriority} to ${maxPriority}`);
}

function readExpiry(text: string): number | undefined {
  if (text === "never") return undefined;
  const { count, unit } = /^(?<count>\d{1,7})(?<unit>[mhd])$/u.exec(text)?.groups ?? {};
  if (count !== undefined && (unit === "m" || unit === "h" || unit === "d")) {
    const milliseconds = Number(count) * unitMilliseconds[unit];
    if (milliseconds <= maxDays * unitMilliseconds.d) return Date.now() + milliseconds;
  }
  const date = /^\d{4}-\d{2}-\d{2}$/u.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(date)) return date;
  throw invalid("--expires", text, "use 90d, 12h, 30m, a date as 2027-01-31, or never");
}

function invalid(flag: string, text: string, reason: string): Error {
  return callFailure({ kind: "usage-error", message: `Invalid ${flag} "${text.slice(0, 100)}": ${reason}` });
}
