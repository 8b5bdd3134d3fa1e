import { sanitizeLine } from "@hearth-and-keep/terminal";
import { type ClientError, clientFailure } from "../client-failure.ts";
import type { Selection } from "./child-environment.ts";
import { parseAge } from "./parse-age.ts";

export type RunFlags = {
  readonly only?: string;
  readonly require?: string;
  readonly prefix?: string;
  readonly mount?: string;
  readonly watch?: boolean;
  readonly interval?: string;
  readonly redact?: boolean;
  readonly offline?: boolean;
  readonly maxAge?: string;
};

export type RunPlan = {
  readonly selection: Selection;
  /** Where files instead of variables are to be found. */
  readonly mount: string | undefined;
  readonly isRedacting: boolean;
  readonly isOffline: boolean;
  readonly maxAgeMinutes: number;
  /** Undefined unless the program is to be restarted. */
  readonly watchSeconds: number | undefined;
};

const defaultAge = "24h";
const defaultSeconds = 10;
const maxSeconds = 3600;

export function readRunFlags(flags: RunFlags): RunPlan {
  return {
    selection: readSelection(flags),
    mount: flags.mount,
    isRedacting: flags.redact === true,
    isOffline: flags.offline === true,
    maxAgeMinutes: readAge(flags),
    watchSeconds: readInterval(flags),
  };
}

function readSelection({ only, require: required, prefix = "" }: RunFlags): Selection {
  if (!/^[A-Za-z0-9_]*$/u.test(prefix))
    throw invalid(`Invalid prefix "${sanitizeLine(prefix)}"`, "use letters, digits and underscores");
  return {
    only: only === undefined ? undefined : readNames(only),
    required: readNames(required ?? ""),
    prefix,
  };
}

/** Separated by commas. */
export function readNames(text: string): readonly string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

function readAge({ maxAge = defaultAge, offline }: RunFlags): number {
  const minutes = parseAge(maxAge);
  if (minutes === undefined)
    throw invalid(`Invalid age "${sanitizeLine(maxAge)}"`, "use one such as 30m, 8h or 7d, at most 30d");
  if (maxAge !== defaultAge && offline !== true) throw invalid("--max-age needs --offline", "add --offline");
  return minutes;
}

function readInterval({ watch, interval }: RunFlags): number | undefined {
  if (interval !== undefined && watch !== true) throw invalid("--interval needs --watch", "add --watch");
  const seconds = interval === undefined ? defaultSeconds : Number(interval);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > maxSeconds)
    throw invalid(`Invalid interval "${sanitizeLine(interval ?? "")}"`, `use 1 to ${maxSeconds} seconds`);
  return watch === true ? seconds : undefined;
}

function invalid(message: string, next: string): ClientError {
  return clientFailure({ kind: "usage-error", message, next });
}
