import type { AuditRecord } from "./audit-record.ts";

type EventBody = Readonly<Record<string, unknown>>;

/** Resolves the ids in records to names. */
export type EntityNames = {
  readonly actor: (actor: string) => string;
  readonly person: (id: string) => string | undefined;
  readonly team: (id: string) => string | undefined;
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

const personName = (body: EventBody, names: EntityNames): string =>
  names.person(text(body, "person")) ?? text(body, "person");

const teamName = (body: EventBody, names: EntityNames): string => {
  const name = names.team(text(body, "team"));
  return name === undefined ? "a team" : `the team “${name}”`;
};

const holderName = (body: EventBody, names: EntityNames): string => {
  const [kind = "", id = ""] = text(body, "holder").split(":");
  const name = kind === "team" ? names.team(id) : names.person(id);
  if (name === undefined) return `${kind} ${id}`;
  return kind === "team" ? `the team “${name}”` : name;
};

const grantName = (body: EventBody): string => {
  const paths = body["paths"];
  const where = Array.isArray(paths) ? paths.join(", ") : "the vault";
  return `${text(body, "role")} of ${where}`;
};

const denialReasons = new Map([
  ["insufficient-scope", "missing scope"],
  ["use-not-allowed", "not allowed by the egress rule of the secret"],
  ["out-of-reach", "path not allowed for the token"],
  ["vault-not-allowed", "vault not allowed for the token"],
  ["address-not-allowed", "address not allowed for the token"],
  ["token-expired", "expired token"],
  ["grant-exceeded", "more permissions than the caller has"],
  ["session-required", "not available to tokens"],
  ["operator-required", "only available to operators"],
  ["role-required", "not allowed by the role or the access to the vault"],
  ["sign-in-too-old", "requires a recent sign-in"],
  ["second-person-required", "requires another person"],
  ["approval-required", "requires the approval of another person"],
]);

const revocationReasons = new Map([
  ["leaked", "reported as leaked"],
  ["parent-revoked", "the token or trust rule that created it ended"],
  ["account-deleted", "the account was deleted"],
  ["member-removed", "its owner left the organisation"],
  ["vault-transferred", "its vault was transferred to another account"],
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

const groupReasons = new Map([
  ["too-many-groups", "the provider did not list the groups, because there are too many"],
  ["unreadable-groups", "the groups from the provider could not be read"],
  ["too-many-teams", "a member can be in at most 100 teams"],
]);

const byGroup = (body: EventBody): string =>
  text(body, "group") === "" ? "" : ` by the group “${text(body, "group")}”`;

const describeGroupChange = (body: EventBody, names: EntityNames): string => {
  const action =
    text(body, "group") === ""
      ? `stopped filling ${teamName(body, names)} from a group`
      : `set ${teamName(body, names)} to be filled by the group “${text(body, "group")}”`;
  const removed = count(body, "removed", "member");
  return text(body, "removed") === "0" ? action : `${action}, which removed ${removed}`;
};

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
  [
    "member-changed",
    (body, names) => `changed the role of ${personName(body, names)} to ${text(body, "role")}`,
  ],
  ["member-removed", (body, names) => `removed the member ${personName(body, names)}`],
  ["invitation-created", (body) => `created an invitation as ${text(body, "role")}`],
  ["invitation-accepted", () => "accepted an invitation"],
  ["invitation-revoked", () => "revoked an invitation"],
  ["team-created", (body) => `created the team “${text(body, "name")}”`],
  ["team-renamed", (body) => `renamed a team to “${text(body, "name")}”`],
  ["team-deleted", (body) => `deleted the team “${text(body, "name")}” with its grants`],
  ["team-group-changed", describeGroupChange],
  [
    "team-groups-skipped",
    (body, names) =>
      `did not update the teams of ${personName(body, names)} (${groupReasons.get(text(body, "reason")) ?? text(body, "reason")})`,
  ],
  [
    "team-member-added",
    (body, names) => `added ${personName(body, names)} to ${teamName(body, names)}${byGroup(body)}`,
  ],
  [
    "team-member-removed",
    (body, names) => `removed ${personName(body, names)} from ${teamName(body, names)}${byGroup(body)}`,
  ],
  ["grant-added", (body, names) => `made ${holderName(body, names)} ${grantName(body)}`],
  ["grant-removed", (body, names) => `removed ${holderName(body, names)} as ${grantName(body)}`],
  [
    "sign-in-refused",
    (body) => `refused a sign-in (${refusalReasons.get(text(body, "reason")) ?? text(body, "reason")})`,
  ],
  ["signed-in", (body, { provider }) => `signed in with ${provider(text(body, "provider"))}`],
  ["session-ended", () => "signed out a session"],
  ["command-line-approved", (body) => `allowed access from the command line of ${text(body, "machine")}`],
  ["command-line-denied", (body) => `denied access to the command line of ${text(body, "machine")}`],
  ["identity-linked", (body, { provider }) => `linked ${provider(text(body, "provider"))}`],
  ["identity-unlinked", (body, { provider }) => `unlinked ${provider(text(body, "provider"))}`],
  ["vault-created", (body, names) => `created ${vaultName(body, names)}`],
  ["vault-changed", (body, names) => `changed the settings of ${vaultName(body, names)}`],
  ["vault-deleted", (body, names) => `deleted ${vaultName(body, names)}`],
  ["vault-restored", (body, names) => `restored ${vaultName(body, names)}`],
  ["vault-purged", (body, names) => `permanently deleted ${vaultName(body, names)}`],
  [
    "vault-transferred-out",
    (body, names) => `transferred ${vaultName(body, names)} to the account ${text(body, "to")}`,
  ],
  [
    "vault-transferred-in",
    (body, names) => `transferred ${vaultName(body, names)} here from the account ${text(body, "from")}`,
  ],
  ["folder-created", (body) => `created the folder ${text(body, "path")}`],
  ["folder-deleted", (body) => `deleted the folder ${text(body, "path")}`],
  ["folder-moved", (body) => `moved the folder ${text(body, "path")} to ${text(body, "to")}`],
  ["secret-written", (body) => `wrote version ${text(body, "version")} of ${text(body, "path")}`],
  [
    "version-restored",
    (body) => `restored an earlier version of ${text(body, "path")} as version ${text(body, "version")}`,
  ],
  ["version-destroyed", (body) => `destroyed version ${text(body, "version")} of ${text(body, "path")}`],
  [
    "secret-changed",
    (body) => `changed the name, folder, tags, note or egress rule of ${text(body, "path")}`,
  ],
  ["secret-deleted", (body) => `deleted ${text(body, "path")}`],
  ["secret-restored", (body) => `restored ${text(body, "path")}`],
  ["secret-purged", (body) => `permanently deleted ${text(body, "path")}`],
  ["value-read", (body) => `read version ${text(body, "version")} of ${text(body, "path")}`],
  [
    "value-used",
    (body) =>
      `used version ${text(body, "version")} of ${text(body, "path")} for ${text(body, "method")} ${text(body, "host")}${text(body, "request_path")}`,
  ],
  ["values-read", (body) => `read ${count(body, "secrets", "value")} in ${folderName(body)}`],
  ["values-exported", (body) => `exported ${count(body, "secrets", "value")} from ${folderName(body)}`],
  ["values-imported", (body) => `imported ${count(body, "written", "value")} into ${folderName(body)}`],
  ["folders-compared", (body) => `compared ${folderName(body)} with ${text(body, "to")}`],
  [
    "values-promoted",
    (body) => `promoted ${count(body, "written", "value")} from ${folderName(body)} to ${text(body, "to")}`,
  ],
  [
    "change-proposed",
    (body) => `proposed a change with ${count(body, "operations", "operation")}: ${text(body, "reason")}`,
  ],
  ["change-approved", (body) => `approved the change that ${text(body, "proposer")} proposed`],
  ["change-rejected", (body) => `rejected the change that ${text(body, "proposer")} proposed`],
  ["change-withdrawn", () => "withdrew a proposed change"],
  ["change-expired", (body) => `ended the change that ${text(body, "proposer")} proposed, which expired`],
  ["change-read", () => "read the values of a proposed change"],
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
