import type { AuthorizeQuery, LoginPermission } from "@hearth-and-keep/vault-contract";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { Transaction } from "../database/transaction.ts";
import { findMembership, type MembershipDependencies } from "../organisations/find-membership.ts";
import { generateRandomToken } from "../sign-in/random-tokens.ts";
import { hashCode, isGenuineLogin, type LoginKeys, signLogin } from "./login-mac.ts";
import { type Decision, decideLogin, findUndecidedLogin, insertLogin, type StoredLogin } from "./queries.ts";
import { generateUserCode, normalizeUserCode } from "./user-code.ts";

export type DecisionDependencies = {
  readonly database: Pick<Database, "query" | "inAccount">;
  readonly serverKeys: LoginKeys;
  readonly audit: Pick<AuditLog, "record">;
};

export type LoginDependencies = {
  readonly database: Pick<Database, "query">;
  readonly serverKeys: LoginKeys;
};

/** The browser carries it to the program at once. */
const redirectSeconds = 60;
export const deviceSeconds = 600;

const undecided = { decision: null, accountId: null, personId: null, sessionId: null } as const;

type ApprovedRedirect = Pick<AuthorizeQuery, "code_challenge" | "machine" | "permission"> & {
  readonly address: string;
};

/** The one-time code of a redirect that a person approved. */
export async function issueCode(
  { code_challenge: codeChallenge, machine, permission, address }: ApprovedRedirect,
  decision: Decision,
  { database, serverKeys, audit }: DecisionDependencies,
): Promise<string> {
  const code = generateRandomToken();
  const codeHash = hashCode("code", code, serverKeys);
  const requested = { codeHash, userCodeHash: null, codeChallenge, machine, permission, address };
  const login = { ...requested, expiresAt: inSeconds(redirectSeconds), ...decision };
  await database.inAccount(decision.personId, async (transaction) => {
    await insertLogin(transaction, signLogin(login, serverKeys));
    record(transaction, { login, decision, address }, audit);
  });
  return code;
}

export type DeviceRequest = {
  readonly machine: string;
  readonly permission: LoginPermission;
  readonly address: string;
};

/** Codes for a machine without a browser. */
export async function startDeviceLogin(
  request: DeviceRequest,
  { database, serverKeys }: LoginDependencies,
): Promise<{ readonly deviceCode: string; readonly userCode: string }> {
  const deviceCode = generateRandomToken();
  const userCode = generateUserCode();
  const hashes = {
    codeHash: hashCode("code", deviceCode, serverKeys),
    userCodeHash: hashCode("user-code", userCode, serverKeys),
  };
  const expiresAt = inSeconds(deviceSeconds);
  const login = { ...request, ...hashes, codeChallenge: null, expiresAt, ...undecided };
  await insertLogin(database, signLogin(login, serverKeys));
  return { deviceCode, userCode };
}

/** The login that waits for this code; undefined for a wrong, used or expired one. */
export async function findDeviceLogin(
  userCode: string,
  { database, serverKeys }: LoginDependencies,
): Promise<StoredLogin | undefined> {
  const userCodeHash = hashCode("user-code", normalizeUserCode(userCode), serverKeys);
  const login = await findUndecidedLogin(database, userCodeHash);
  return login !== undefined && isGenuineLogin(login, serverKeys) ? login : undefined;
}

export type DeviceDecision = Decision & {
  /** Of the person's browser. */
  readonly address: string;
};

/** False when somebody else has decided in between. */
export async function decideDeviceLogin(
  login: StoredLogin,
  { address, ...decision }: DeviceDecision,
  { database, serverKeys, audit }: DecisionDependencies,
): Promise<boolean> {
  const { mac } = signLogin({ ...login, ...decision }, serverKeys);
  return database.inAccount(decision.personId, async (transaction) => {
    const isDecided = await decideLogin(transaction, login, { ...decision, mac });
    if (isDecided) record(transaction, { login, decision, address }, audit);
    return isDecided;
  });
}

type Decided = {
  readonly login: Pick<StoredLogin, "machine" | "address">;
  readonly decision: Decision;
  readonly address: string;
};

function record(
  transaction: Transaction,
  { login, decision: { decision, personId, sessionId }, address }: Decided,
  audit: Pick<AuditLog, "record">,
): void {
  const type = decision === "approve" ? "command-line-approved" : "command-line-denied";
  const event = { type, machine: login.machine, machine_address: login.address } as const;
  audit.record(transaction, { accountId: personId, by: { kind: "session", id: sessionId, address }, event });
}

/** Whether the person may have a token in the account: their own, or an organisation of which they are a member. */
export async function mayLogInTo(
  accountId: string,
  person: Pick<Actor, "accountId">,
  dependencies: MembershipDependencies,
): Promise<boolean> {
  if (accountId === person.accountId) return true;
  return (await findMembership({ accountId, personId: person.accountId }, dependencies)) !== undefined;
}

/** Whole milliseconds survive the database, so that the MAC stays the same. */
function inSeconds(seconds: number): Date {
  return new Date(Date.now() + seconds * 1000);
}
