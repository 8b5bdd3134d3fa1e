import type { AuditRecord } from "./audit-record.ts";

type EventBody = Readonly<Record<string, unknown>>;

/** Resolves the ids in records to names. */
export type EntityNames = {
  readonly actor: (actor: string) => string;
  readonly token: (id: string) => string | undefined;
  readonly vault: (id: string) => string | undefined;
  readonly provider: (kind: string) => string;
};

/** A sentence in two parts: the actor, and what it did. */
export type EventDescription = {
  readonly actor: string;
  readonly action: string;
  readonly address: string | undefined;
  readonly kind: "plain" | "alert";
};

export function describeEvent(record: AuditRecord, names: EntityNames): EventDescription {
  const { body } = record;
  if (body === null)
    return unreadable("The content of this record was erased; its position in the log is kept");
  if (!isBody(body)) return unreadable("This record cannot be read; verify the log");
  const type = text(body, "type");
  const action = actions.get(type)?.(body, names) ?? `unknown event: ${type}`;
  const address = text(body, "address");
  return {
    // Only the server records events without an actor.
    actor: names.actor(text(body, "by") || "server"),
    action,
    address: address === "" ? undefined : address,
    kind: type === "denied" || type === "integrity-broken" ? "alert" : "plain",
  };
}

function unreadable(action: string): EventDescription {
  return { actor: "", action, address: undefined, kind: "alert" };
}

function isBody(body: unknown): body is EventBody {
  return typeof body === "object" && body !== null && !Array.isArray(body);
}

function text(body: EventBody, name: string): string {
  const value = body[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function count(body: EventBody, name: string, noun: string): string {
  const value = body[name];
  const number = Array.isArray(value) ? value.length : Number(value);
  return number === 1 ? `1 ${noun}` : `${number.toLocaleString("en")} ${noun}s`;
}

const vaultName = (body: EventBody, names: EntityNames): string => {
  const name = text(body, "name") || names.vault(text(body, "vault"));
  return name === undefined ? "a vault" : `the vault “${name}”`;
};

const tokenName = (body: EventBody, names: EntityNames): string => {
  const name = text(body, "name") || names.token(text(body, "token"));
  return name === undefined ? "a token" : `the token “${name}”`;
};

const folderName = (body: EventBody): string =>
  text(body, "path") === "/" || text(body, "path") === "" ? "the vault" : text(body, "path");

const denialReasons = new Map([
  ["insufficient-scope", "missing scope"],
  ["out-of-reach", "path not allowed for the token"],
  ["vault-not-allowed", "vault not allowed for the token"],
  ["address-not-allowed", "address not allowed for the token"],
  ["token-expired", "expired token"],
  ["grant-exceeded", "more permissions than the token has"],
  ["session-required", "not available to tokens"],
  ["operator-required", "only available to operators"],
  ["role-required", "not allowed by the role"],
  ["sign-in-too-old", "requires a recent sign-in"],
]);

const revocationReasons = new Map([
  ["leaked", "reported as leaked"],
  ["parent-revoked", "the token or trust rule that created it ended"],
  ["account-deleted", "the account was deleted"],
]);

const refusalReasons = new Map([
  ["account-suspended", "the account is suspended"],
  ["invitation-required", "new accounts need an invitation"],
  ["no-rule-admits", "no admission rule applies"],
  ["groups-missing", "the provider sent no groups"],
]);

const pauseReasons = new Map([
  ["membership-ended", "the membership ended"],
  ["membership-unconfirmed", "the membership could not be confirmed"],
]);

type DescribeAction = (body: EventBody, names: EntityNames) => string;

/** By event type. Each text follows the actor's name. */
const actions = new Map<string, DescribeAction>([
  ["account-created", () => "created the account"],
  ["account-deleted", () => "deleted the account"],
  ["account-suspended", () => "suspended the account"],
  ["account-resumed", () => "resumed the account"],
  [
    "account-paused",
    (body) => `paused the account (${pauseReasons.get(text(body, "reason")) ?? text(body, "reason")})`,
  ],
  ["account-unpaused", () => "resumed the account after an admitted sign-in"],
  ["account-managed", (body) => `${text(body, "change")} the account ${text(body, "account")}`],
  ["operator-added", () => "made the account an operator's"],
  ["operator-removed", () => "made the account an ordinary one"],
  ["organisation-created", (body) => `created the organisation “${text(body, "name")}”`],
  ["organisation-renamed", (body) => `renamed the organisation to “${text(body, "name")}”`],
  ["member-added", (body) => `joined as ${text(body, "role")}`],
  ["member-changed", (body) => `changed the role of ${text(body, "person")} to ${text(body, "role")}`],
  ["member-removed", (body) => `removed the member ${text(body, "person")}`],
  ["invitation-created", (body) => `created an invitation as ${text(body, "role")}`],
  ["invitation-accepted", () => "accepted an invitation"],
  ["invitation-revoked", () => "revoked an invitation"],
  [
    "sign-in-refused",
    (body) => `refused a sign-in (${refusalReasons.get(text(body, "reason")) ?? text(body, "reason")})`,
  ],
  ["signed-in", (body, { provider }) => `signed in with ${provider(text(body, "provider"))}`],
  ["session-ended", () => "signed out a session"],
  ["identity-linked", (body, { provider }) => `linked ${provider(text(body, "provider"))}`],
  ["identity-unlinked", (body, { provider }) => `unlinked ${provider(text(body, "provider"))}`],
  ["vault-created", (body, names) => `created ${vaultName(body, names)}`],
  ["vault-changed", (body, names) => `changed the settings of ${vaultName(body, names)}`],
  ["vault-deleted", (body, names) => `deleted ${vaultName(body, names)}`],
  ["vault-restored", (body, names) => `restored ${vaultName(body, names)}`],
  ["vault-purged", (body, names) => `permanently deleted ${vaultName(body, names)}`],
  ["folder-created", (body) => `created the folder ${text(body, "path")}`],
  ["folder-deleted", (body) => `deleted the folder ${text(body, "path")}`],
  ["folder-moved", (body) => `moved the folder ${text(body, "path")} to ${text(body, "to")}`],
  ["secret-written", (body) => `wrote version ${text(body, "version")} of ${text(body, "path")}`],
  [
    "version-restored",
    (body) => `restored an earlier version of ${text(body, "path")} as version ${text(body, "version")}`,
  ],
  ["version-destroyed", (body) => `destroyed version ${text(body, "version")} of ${text(body, "path")}`],
  ["secret-changed", (body) => `changed the name, folder, tags or note of ${text(body, "path")}`],
  ["secret-deleted", (body) => `deleted ${text(body, "path")}`],
  ["secret-restored", (body) => `restored ${text(body, "path")}`],
  ["secret-purged", (body) => `permanently deleted ${text(body, "path")}`],
  ["value-read", (body) => `read version ${text(body, "version")} of ${text(body, "path")}`],
  ["values-read", (body) => `read ${count(body, "secrets", "value")} in ${folderName(body)}`],
  ["values-exported", (body) => `exported ${count(body, "secrets", "value")} from ${folderName(body)}`],
  ["values-imported", (body) => `imported ${count(body, "written", "value")} into ${folderName(body)}`],
  ["folders-compared", (body) => `compared ${folderName(body)} with ${text(body, "to")}`],
  [
    "values-promoted",
    (body) => `promoted ${count(body, "written", "value")} from ${folderName(body)} to ${text(body, "to")}`,
  ],
  ["token-created", (body, names) => `created ${tokenName(body, names)}`],
  [
    "token-changed",
    (body, names) => `renamed a token to ${tokenName(body, names).replace("the token ", "")}`,
  ],
  ["token-rotated", (body, names) => `rotated ${tokenName(body, names)}`],
  [
    "token-revoked",
    (body, names) => {
      const reason = revocationReasons.get(text(body, "reason"));
      return `revoked ${tokenName(body, names)}${reason === undefined ? "" : ` (${reason})`}`;
    },
  ],
  ["trust-rule-created", (body) => `created the trust rule “${text(body, "name")}”`],
  ["trust-rule-changed", (body) => `changed the trust rule “${text(body, "name")}”`],
  ["trust-rule-deleted", (body) => `deleted the trust rule “${text(body, "name")}”`],
  [
    "token-exchange-refused",
    (body) => {
      const subject = body["verified"] === true ? ` of ${text(body, "subject")}` : "";
      return `refused to exchange a token${subject} (${text(body, "reason")})`;
    },
  ],
  ["data-key-rotated", (body) => `rotated the vault key to version ${text(body, "version")}`],
  ["data-key-destroyed", (body) => `destroyed version ${text(body, "version")} of the vault key`],
  ["chain-carried-over", (body) => `carried over the earlier audit log with ${count(body, "seq", "record")}`],
  [
    "integrity-broken",
    () => "requested a secret that failed its integrity check; the value was not returned",
  ],
  [
    "denied",
    (body) => {
      const reason = denialReasons.get(text(body, "reason")) ?? text(body, "reason");
      const target = text(body, "target");
      return `had a request denied: ${text(body, "route")}${target === "" ? "" : ` for ${target}`} (${reason})`;
    },
  ],
]);

/** Every event type that has a description. */
export const describedTypes: readonly string[] = [...actions.keys()];
