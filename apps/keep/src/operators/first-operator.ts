import { randomBytes, timingSafeEqual } from "node:crypto";
import { changeOperator, type OperatorDependencies } from "../accounts/suspend-account.ts";
import type { Actor } from "../authorization/actor.ts";
import type { Database } from "../database/open-database.ts";
import type { ServerKeys } from "../keys/server-keys.ts";
import { deleteOperatorCodes, hasOperator, insertOperatorCode, lockOperatorCodes } from "./queries.ts";

type CodeKeys = Pick<ServerKeys, "fingerprint">;

export type CodeDependencies = {
  readonly database: Pick<Database, "query" | "acrossAccounts">;
  readonly serverKeys: CodeKeys;
};

const codeHours = 24;
/** Base 32 without letters that are mistaken for digits (Crockford). */
const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const codeDigits = 20;
const groupDigits = 5;

/**
 * A new code with which the first operator is chosen, unless there is one. A code makes one operator, and codes that other
 * nodes printed keep working until then. Nobody who can only write to the database can add or extend one.
 */
export async function issueOperatorCode({
  database,
  serverKeys,
}: CodeDependencies): Promise<string | undefined> {
  if (await hasOperator(database)) return undefined;
  const code = [...randomBytes(codeDigits)].map((byte) => digits[byte % digits.length]).join("");
  const expiresAt = new Date(Date.now() + codeHours * 3_600_000);
  await insertOperatorCode(database, { codeHash: hashCode(code, expiresAt, serverKeys), expiresAt });
  return (code.match(new RegExp(`.{${groupDigits}}`, "gu")) ?? []).join("-");
}

export type UseDependencies = OperatorDependencies & {
  readonly database: Pick<Database, "inAccount" | "acrossAccounts">;
  readonly serverKeys: CodeKeys & OperatorDependencies["serverKeys"];
};

/** Makes the actor the first operator. False for a wrong, used or expired code, and when there is an operator. */
export async function useOperatorCode(
  actor: Pick<Actor, "accountId">,
  text: string,
  dependencies: UseDependencies,
): Promise<boolean> {
  const code = normalizeCode(text);
  const { database, serverKeys } = dependencies;
  return database.inAccount(actor.accountId, async (transaction) => {
    const codes = await lockOperatorCodes(transaction);
    const matches = codes.map(({ codeHash, expiresAt }) =>
      timingSafeEqual(codeHash, hashCode(code, expiresAt, serverKeys)),
    );
    // All are compared, so that the time does not depend on which one is right.
    if (!matches.includes(true) || (await hasOperator(database))) return false;
    await deleteOperatorCodes(transaction);
    await changeOperator(transaction, { accountId: actor.accountId, isOperator: true }, dependencies);
    return true;
  });
}

/** As typed: hyphens and blanks do not matter, nor does case. */
function normalizeCode(text: string): string {
  return text.replaceAll(/[\s-]/gu, "").toUpperCase().replaceAll("O", "0").replaceAll(/[IL]/gu, "1");
}

function hashCode(code: string, expiresAt: Date, serverKeys: CodeKeys): Buffer {
  return serverKeys.fingerprint(["operator-code", code, expiresAt.getTime()]);
}
