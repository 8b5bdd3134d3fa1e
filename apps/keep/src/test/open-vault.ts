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

/** What an answer may hold. Which of it there is, each test looks for itself. */
export type ResponseBody = SecretMetadata &
  SecretValue &
  BatchOutcome &
  Problem & { readonly items: readonly ResponseBody[]; readonly next_cursor?: string };

type VaultAsked = {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Another one than the owner's. */
  readonly token?: string;
};

type AskForJson = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<[status: number, told: ResponseBody]>;

/** A Keep with one person in it, and ways to ask about their personal vault with a token of every scope. */
export type OpenedVault = Omit<TestKeep, "ask" | "addToken"> & {
  readonly person: TestPerson;
  readonly token: { readonly id: string; readonly text: string };
  addToken(grant: TestGrant): Promise<string>;
  /** The path begins after the vault's; one that begins with `/api` is the whole. */
  ask(method: string, path: string, asked?: VaultAsked): Promise<Response>;
  json: AskForJson;
  /** The same with another token. */
  as(token: string): { readonly json: AskForJson };
  /** Fails unless it was written. */
  write(path: string, value: string): Promise<SecretMetadata>;
};

/** One that lets everybody ask as often as they like. */
export function startPatientKeep(options: TestKeepOptions = {}): Promise<TestKeep> {
  const settings = { readsPerMinute: "1000000", writesPerMinute: "1000000", ...options.settings };
  return startTestKeep({ ...options, settings });
}

/** In a Keep of its own, or in one that several tests share. */
export async function openVault(shared?: TestKeep): Promise<OpenedVault> {
  const keep = shared ?? (await startPatientKeep());
  const person = await keep.addPerson();
  const token = await keep.addToken(person, { scopes: everyScope });
  const vault = `/api/secrets/vaults/${person.vaultId}`;
  const ask: OpenedVault["ask"] = (method, path, asked = {}) =>
    keep.ask(path.startsWith("/api") ? path : vault + path, { token: token.text, ...asked, method });
  const jsonWith =
    (text: string): AskForJson =>
    async (method, path, body) => {
      const response = await ask(method, path, { token: text, ...(body === undefined ? {} : { body }) });
      const answer = await response.text();
      // What it is, the test says.
      return [response.status, JSON.parse(answer === "" ? "null" : answer) as ResponseBody];
    };
  const json = jsonWith(token.text);
  return {
    ...keep,
    [Symbol.asyncDispose]: async () => (shared === undefined ? keep[Symbol.asyncDispose]() : undefined),
    person,
    token,
    addToken: async (grant) => (await keep.addToken(person, grant)).text,
    ask,
    json,
    as: (text) => ({ json: jsonWith(text) }),
    async write(path, value) {
      const [status, told] = await json("PUT", `/secrets/by-path${encodeURI(path)}`, { value });
      if (status !== 200 && status !== 201) throw new Error(`Cannot write "${path}": ${status}`);
      return told;
    },
  };
}
