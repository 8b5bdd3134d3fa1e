import { ConfigurationError } from "../../../sdks/typescript/src/errors.ts";
import { parseServer } from "../../../sdks/typescript/src/server-address.ts";

/** What the workflow passes to the action. */
export type Inputs = {
  readonly server: string;
  readonly vault: string;
  readonly audience: string;
  readonly folder: string;
  /** Undefined for all of the folder. */
  readonly names: readonly string[] | undefined;
  readonly inherit: boolean;
  readonly prefix: string;
  readonly target: "env" | "outputs" | "none";
  readonly exportsToken: boolean;
};

/** How the job requests its identity. */
export type Identity = { readonly url: string; readonly requestToken: string };

/** Files that the runner reads after the step. */
export type CommandFiles = { readonly env: string; readonly output: string; readonly state: string };

export function readInputs(): Inputs {
  const names = readInput("names")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  const prefix = readInput("prefix");
  if (!/^[A-Za-z0-9_]*$/u.test(prefix))
    throw new ConfigurationError("Input prefix: use letters, digits and underscores");
  const audience = readInput("audience");
  if (audience === "") throw new ConfigurationError("Input audience: use the audience of the trust rule");
  return {
    server: parseServer(readInput("server")),
    vault: readInput("vault"),
    audience,
    folder: readInput("folder") || "/",
    names: names.length === 0 ? undefined : names,
    inherit: readFlag("inherit"),
    prefix,
    target: readTarget(readInput("export")),
    exportsToken: readFlag("export-token"),
  };
}

export function readIdentity(): Identity {
  return {
    url: readVariable("ACTIONS_ID_TOKEN_REQUEST_URL"),
    requestToken: readVariable("ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
  };
}

export function readCommandFiles(): CommandFiles {
  const [env, output, state] = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STATE"].map(readVariable);
  if (!env || !output || !state) throw new ConfigurationError("This program runs as a GitHub Action only");
  return { env, output, state };
}

/** What the main step has saved for the step after the job. */
export function readState(): { readonly server: string; readonly token: string } {
  return { server: readVariable("STATE_server"), token: readVariable("STATE_token") };
}

function readInput(name: string): string {
  return readVariable(`INPUT_${name.toUpperCase()}`);
}

function readFlag(name: string): boolean {
  const text = readInput(name) || "false";
  if (text !== "true" && text !== "false") throw new ConfigurationError(`Input ${name}: use true or false`);
  return text === "true";
}

function readTarget(text: string): Inputs["target"] {
  if (text === "" || text === "env") return "env";
  if (text === "outputs" || text === "none") return text;
  throw new ConfigurationError("Input export: use env, outputs or none");
}

function readVariable(name: string): string {
  return process.env[name]?.trim() ?? "";
}
