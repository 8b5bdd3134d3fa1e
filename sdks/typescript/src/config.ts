import { ConfigurationError } from "./errors.ts";
import { parseServer } from "./server-address.ts";
import { gitHubToken, tokenFromFile } from "./workload.ts";

export type VaultOptions = {
  /** `https://…`, or `http://` for this machine. Default: `KEEP_SERVER`. */
  readonly server?: string;
  /** Id of the vault. Default: `KEEP_VAULT`. */
  readonly vault?: string;
  /** Default: `KEEP_TOKEN`. */
  readonly token?: string;
  /**
   * Instead of a token: returns one of the platform, which is exchanged for a short-lived one by a trust rule. Default:
   * the file in `KEEP_TRUST_TOKEN_FILE`, or GitHub's endpoint for the audience in `KEEP_TRUST_AUDIENCE`.
   */
  readonly subjectToken?: () => Promise<string>;
  /** Values that were read are used for so long without a request. Default: 0. */
  readonly maxAgeSeconds?: number;
  /** While the server is unavailable, values of at most this age are used. Default: 0, never. */
  readonly staleSeconds?: number;
  /** For each attempt of a request. Default: 10. */
  readonly timeoutSeconds?: number;
  /** Of requests that can be repeated, after 429, 503 and broken connections. Default: 3. */
  readonly maxRetries?: number;
};

export type Settings = Required<Omit<VaultOptions, "token" | "subjectToken">> & {
  readonly credential: { readonly token: string } | { readonly subjectToken: () => Promise<string> };
};

type Environment = Readonly<Record<string, string | undefined>>;

const idPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;
const tokenPattern = /^[!-~]{1,255}$/u;

export function readSettings(options: VaultOptions): Settings {
  // Some runtimes have no environment.
  const environment: Environment = globalThis.process?.env ?? {};
  const read = (option: string | undefined, name: string) => option ?? emptyToUndefined(environment[name]);
  const vault = read(options.vault, "KEEP_VAULT");
  if (vault === undefined || !idPattern.test(vault))
    throw new ConfigurationError("Set vault or KEEP_VAULT to the id of a vault");
  return {
    server: parseServer(read(options.server, "KEEP_SERVER")),
    vault,
    credential: readCredential(options, environment),
    maxAgeSeconds: readNumber("maxAgeSeconds", options.maxAgeSeconds ?? 0),
    staleSeconds: readNumber("staleSeconds", options.staleSeconds ?? 0),
    timeoutSeconds: readNumber("timeoutSeconds", options.timeoutSeconds ?? 10),
    maxRetries: readNumber("maxRetries", options.maxRetries ?? 3),
  };
}

function readCredential(options: VaultOptions, environment: Environment): Settings["credential"] {
  if (options.subjectToken !== undefined) return { subjectToken: options.subjectToken };
  const token = options.token ?? emptyToUndefined(environment["KEEP_TOKEN"]);
  const file = emptyToUndefined(environment["KEEP_TRUST_TOKEN_FILE"]);
  const audience = emptyToUndefined(environment["KEEP_TRUST_AUDIENCE"]);
  if (token !== undefined) {
    if (!tokenPattern.test(token)) throw new ConfigurationError("The token has invalid characters");
    return { token };
  }
  if (file !== undefined) return { subjectToken: tokenFromFile(file) };
  if (audience !== undefined) {
    const url = environment["ACTIONS_ID_TOKEN_REQUEST_URL"] ?? "";
    const requestToken = environment["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] ?? "";
    return { subjectToken: gitHubToken({ audience, url, requestToken }) };
  }
  throw new ConfigurationError(
    "Set token or KEEP_TOKEN, or KEEP_TRUST_TOKEN_FILE or KEEP_TRUST_AUDIENCE to exchange a token of the platform",
  );
}

function readNumber(name: string, value: number): number {
  const isValid = Number.isFinite(value) && value >= 0 && (name !== "timeoutSeconds" || value > 0);
  if (!isValid) throw new ConfigurationError(`${name} must be a number, and not negative`);
  return value;
}

function emptyToUndefined(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === "" ? undefined : trimmed;
}
