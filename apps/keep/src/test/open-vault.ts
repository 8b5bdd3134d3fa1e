import type { BatchOutcome, Problem, SecretMetadata, SecretValue } from "@hearth-and-keep/vault-contract";
import { type Scope, scopes } from "../authorization/scopes.ts";
import {
  startTestKeep,
  type TestGrant,
  type TestKeep,
  type TestKeepOptions,
  type TestPerson,
} from "./start-test-keep.ts";

export const everyScope: readonly Scope[] = scopes;

/** Union of all response fields; each test checks those that it expects. */
export type ResponseBody = SecretMetadata &
  SecretValue &
  BatchOutcome &
  Problem & { readonly items: readonly ResponseBody[]; readonly next_cursor?: string };

type VaultRequestOptions = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Defaults to the owner's token. */
  readonly token?: string;
};

type RequestJson = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<[status: number, body: ResponseBody]>;

/** A Keep with one person, and helpers for requests to their personal vault with a token of every scope. */
export type OpenedVault = Omit<TestKeep, "request" | "addToken"> & {
  readonly person: TestPerson;
  readonly token: { readonly id: string; readonly text: string };
  addToken(grant: TestGrant): Promise<string>;
  /** The path is relative to the vault's URL, unless it starts with `/api`. */
  request(method: string, path: string, options?: VaultRequestOptions): Promise<Response>;
  json: RequestJson;
  /** `json` with another token. */
  as(token: string): { readonly json: RequestJson };
  /** Throws unless the write succeeds. */
  write(path: string, value: string): Promise<SecretMetadata>;
};

/** A Keep without effective rate limits. */
export function startUnlimitedKeep(options: TestKeepOptions = {}): Promise<TestKeep> {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000", ...options.settings };
  return startTestKeep({ ...options, settings });
}

/** Creates a person and vault in its own Keep, or in the given shared one. */
export async function openVault(shared?: TestKeep): Promise<OpenedVault> {
  const keep = shared ?? (await startUnlimitedKeep());
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: everyScope });
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  const request: OpenedVault["request"] = (method, path, options = {}) =>
    keep.request(path.startsWith("/api") ? path : vault + path, { token: token.text, ...options, method });
  const jsonWithToken =
    (text: string): RequestJson =>
    async (method, path, body) => {
      const response = await request(method, path, { token: text, ...(body === undefined ? {} : { body }) });
      const content = await response.text();
      // Checked by the test's assertions.
      return [response.status, JSON.parse(content === "" ? "null" : content) as ResponseBody];
    };
  const json = jsonWithToken(token.text);
  return {
    ...keep,
    [Symbol.asyncDispose]: async () => (shared === undefined ? keep[Symbol.asyncDispose]() : undefined),
    person,
    token,
    addToken: async (grant) => (await keep.addToken(person, grant)).text,
    request,
    json,
    as: (text) => ({ json: jsonWithToken(text) }),
    async write(path, value) {
      const [status, secret] = await json("PUT", `/secrets/by-path${encodeURI(path)}`, { value });
      if (status !== 200 && status !== 201) throw new Error(`Cannot write "${path}": ${status}`);
      return secret;
    },
  };
}
