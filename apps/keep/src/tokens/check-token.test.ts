import { expect, test } from "vitest";
import { createCacheInvalidation } from "../cluster/cache-invalidation.ts";
import { generateId } from "../generate-id.ts";
import { createTokenCheck } from "./check-token.ts";
import { generateToken } from "./token-format.ts";

/** A check of one token, with control over its revocation, the clock, the database and cache freshness. */
function checkOne(expiresAt: Date | null = null) {
  const node = {
    isFresh: true,
    now: 1000,
    isRevoked: false,
    isDatabaseDown: false,
    queries: 0,
    onQuery: () => undefined,
  };
  const invalidation = createCacheInvalidation({ isFresh: () => node.isFresh, databaseNow: () => node.now });
  const token = { id: generateId(), accountId: generateId(), text: generateToken() };
  const limits = { scopes: ["vaults:read"], vaultIds: null, paths: null, addresses: null, expiresAt };
  const runQuery = async <Row extends object>(): Promise<readonly Row[]> => {
    node.queries += 1;
    if (node.isDatabaseDown) throw new Error("database is down");
    const row = {
      ...limits,
      id: token.id,
      accountId: token.accountId,
      tokenId: token.id,
      validUntil: null,
      ownerId: null,
    };
    // The columns of both queries.
    const rows = node.isRevoked ? [] : [row as unknown as Row];
    node.onQuery();
    return rows;
  };
  const database = { query: runQuery, queryInAccount: runQuery };
  const check = createTokenCheck({
    database,
    invalidation,
    rowMacs: { isGenuine: () => true },
    findOwnerAccess: async () => undefined,
    recordUse: () => undefined,
  });
  const isAccepted = async () =>
    (await check(token.text, { address: "127.0.0.1", mayQueryDatabase: true })) !== undefined;
  return { node, invalidation, token, isAccepted };
}

test("a token is cached while the node receives revocations, and looked up every time otherwise", async () => {
  const { node, isAccepted } = checkOne();
  for (let count = 0; count < 3; count += 1) expect(await isAccepted()).toBe(true);
  expect(node.queries).toBe(2);
  node.isFresh = false;
  for (let count = 0; count < 3; count += 1) expect(await isAccepted()).toBe(true);
  expect(node.queries).toBe(8);
});

test("a node without revocations and database accepts no token", async () => {
  const { node, isAccepted } = checkOne();
  expect(await isAccepted()).toBe(true);
  Object.assign(node, { isFresh: false, isDatabaseDown: true });
  await expect(isAccepted()).rejects.toThrow("database is down");
});

test.each(["token", "account"] as const)(
  "after an invalidation of the %s the token is looked up again",
  async (kind) => {
    const { node, invalidation, token, isAccepted } = checkOne();
    expect(await isAccepted()).toBe(true);
    node.isRevoked = true;
    expect(await isAccepted()).toBe(true);
    invalidation.invalidate([{ kind, subjectId: generateId() }]);
    expect(await isAccepted()).toBe(true);
    invalidation.invalidate([{ kind, subjectId: kind === "token" ? token.id : token.accountId }]);
    expect(await isAccepted()).toBe(false);
  },
);

test("a token revoked during its lookup is not cached", async () => {
  const { node, invalidation, token, isAccepted } = checkOne();
  node.onQuery = () => {
    node.isRevoked = node.queries === 2;
    if (node.isRevoked) invalidation.invalidate([{ kind: "token", subjectId: token.id }]);
  };
  expect(await isAccepted()).toBe(true);
  expect(await isAccepted()).toBe(false);
});

test("a cached token expires by the database's clock", async () => {
  const { node, isAccepted } = checkOne(new Date(2000));
  expect(await isAccepted()).toBe(true);
  node.now = 1999;
  expect(await isAccepted()).toBe(true);
  node.now = 2000;
  expect(await isAccepted()).toBe(false);
  expect(node.queries).toBe(2);
});
