import type { AuditRecord } from "./audit-record.ts";

/** What a record says, as far as it can be read. */
type EventBody = Readonly<Record<string, unknown>>;

/** Names for what records name by ids. */
export type Names = {
  readonly who: (actor: string) => string;
  readonly token: (id: string) => string | undefined;
  readonly vault: (id: string) => string | undefined;
  readonly provider: (kind: string) => string;
};

export type Sentence = {
  readonly who: string;
  readonly did: string;
  readonly address: string | undefined;
  readonly kind: "plain" | "alarm";
};

export function sentenceOf(record: AuditRecord, names: Names): Sentence {
  const { body } = record;
  if (body === null) return silent("The content of this record was erased; its place in the log is kept");
  if (!isBody(body)) return silent("This record cannot be read; verify the log");
  const type = text(body, "type");
  const did = phrases.get(type)?.(body, names) ?? `did something that this page does not know: ${type}`;
  const address = text(body, "address");
  return {
    who: names.who(text(body, "by")),
    did,
    address: address === "" ? undefined : address,
    kind: type === "denied" || type === "integrity-broken" ? "alarm" : "plain",
  };
}

function silent(did: string): Sentence {
  return { who: "", did, address: undefined, kind: "alarm" };
}

function isBody(body: unknown): body is EventBody {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

function text(body: EventBody, name: string): string {
  const value = body[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function count(body: EventBody, name: string, thing: string): string {
  const value = body[name];
  const many = Array.isArray(value) ? value.length : Number(value);
  return many === 1 ? `1 ${thing}` : `${many.toLocaleString("en")} ${thing}s`;
}

const vaultName = (body: EventBody, names: Names): string => {
  const name = text(body, "name") || names.vault(text(body, "vault"));
  return name === undefined ? "a vault" : `the vault “${name}”`;
};

const tokenName = (body: EventBody, names: Names): string => {
  const name = text(body, "name") || names.token(text(body, "token"));
  return name === undefined ? "a token" : `the token “${name}”`;
};

const folderOf = (body: EventBody): string =>
  text(body, "path") === "/" || text(body, "path") === "" ? "the vault" : text(body, "path");

/** Why a request was denied, after "because". */
const denials = new Map([
  ["insufficient-scope", "the token has no scope for that"],
  ["out-of-reach", "the token does not reach that path"],
  ["grant-exceeded", "a token cannot give more than it may do itself"],
  ["session-required", "only a person may do that"],
  ["sign-in-too-old", "the sign-in was too long ago"],
]);

const revocations = new Map([
  ["leaked", ", because it was found in the open"],
  ["parent-revoked", ", because the token it was made with was revoked"],
  ["account-deleted", ", because the account was deleted"],
]);

type Phrase = (body: EventBody, names: Names) => string;

/** By the type of the event; each goes on after the name of whoever did it. */
const phrases = new Map<string, Phrase>([
  ["account-created", () => "opened the account"],
  ["account-deleted", () => "deleted the account"],
  ["signed-in", (body, { provider }) => `signed in with ${provider(text(body, "provider"))}`],
  ["session-ended", () => "ended a session"],
  ["identity-linked", (body, { provider }) => `linked an identity at ${provider(text(body, "provider"))}`],
  [
    "identity-unlinked",
    (body, { provider }) => `unlinked an identity at ${provider(text(body, "provider"))}`,
  ],
  ["vault-created", (body, names) => `made ${vaultName(body, names)}`],
  ["vault-changed", (body, names) => `changed the settings of ${vaultName(body, names)}`],
  ["vault-deleted", (body, names) => `deleted ${vaultName(body, names)}`],
  ["vault-restored", (body, names) => `restored ${vaultName(body, names)}`],
  ["vault-purged", (body, names) => `destroyed ${vaultName(body, names)} for good`],
  ["folder-created", (body) => `made the folder ${text(body, "path")}`],
  ["folder-deleted", (body) => `deleted the folder ${text(body, "path")}`],
  ["folder-moved", (body) => `moved the folder ${text(body, "path")} to ${text(body, "to")}`],
  ["secret-written", (body) => `wrote version ${text(body, "version")} of ${text(body, "path")}`],
  [
    "version-restored",
    (body) => `restored an old version of ${text(body, "path")} as ${text(body, "version")}`,
  ],
  ["version-destroyed", (body) => `destroyed version ${text(body, "version")} of ${text(body, "path")}`],
  ["secret-changed", (body) => `changed the name, folder, tags or note of ${text(body, "path")}`],
  ["secret-deleted", (body) => `deleted ${text(body, "path")}`],
  ["secret-restored", (body) => `restored ${text(body, "path")}`],
  ["secret-purged", (body) => `destroyed ${text(body, "path")} for good`],
  ["value-read", (body) => `read version ${text(body, "version")} of ${text(body, "path")}`],
  ["values-read", (body) => `read ${count(body, "secrets", "value")} in ${folderOf(body)}`],
  ["values-exported", (body) => `exported ${count(body, "secrets", "value")} from ${folderOf(body)}`],
  ["values-imported", (body) => `imported ${count(body, "written", "value")} into ${folderOf(body)}`],
  ["token-created", (body, names) => `made ${tokenName(body, names)}`],
  [
    "token-changed",
    (body, names) => `renamed a token to ${tokenName(body, names).replace("the token ", "")}`,
  ],
  ["token-rotated", (body, names) => `gave ${tokenName(body, names)} a new value`],
  [
    "token-revoked",
    (body, names) => `revoked ${tokenName(body, names)}${revocations.get(text(body, "reason")) ?? ""}`,
  ],
  ["data-key-rotated", (body) => `gave the vault a new key, version ${text(body, "version")}`],
  ["data-key-destroyed", (body) => `destroyed the old key, version ${text(body, "version")}`],
  ["integrity-broken", () => "met a secret that is not what was stored; its value was not given out"],
  [
    "denied",
    (body) =>
      `was denied ${text(body, "route")}, because ${denials.get(text(body, "reason")) ?? text(body, "reason")}`,
  ],
]);

/** Every type there are words for. */
export const knownTypes: readonly string[] = [...phrases.keys()];
