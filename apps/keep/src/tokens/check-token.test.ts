import { expect, test } from "vitest";
import { createForgetting } from "../cluster/cache-invalidation.ts";
import { makeId } from "../make-id.ts";
import { createTokenCheck } from "./check-token.ts";
import { makeToken } from "./token-format.ts";

/** A check over one token that is there until it is revoked, with a hand on the clock and on what the node hears. */
function checkOne(expiresAt: Date | null = null) {
  const node = {
    isFresh: true,
    now: 1000,
    isRevoked: false,
    isAway: false,
    asked: 0,
    onAsk: () => undefined,
  };
  const forgetting = createForgetting({ isFresh: () => node.isFresh, databaseNow: () => node.now });
  const token = { id: makeId(), accountId: makeId(), text: makeToken() };
  const limits = { scopes: ["vaults:read"], vaultIds: null, paths: null, addresses: null, expiresAt };
  const answer = async <Row extends object>(): Promise<readonly Row[]> => {
    node.asked += 1;
    if (node.isAway) throw new Error("away");
    const row = { ...limits, id: token.id, accountId: token.accountId, tokenId: token.id, validUntil: null };
    // The columns of both statements in one.
    const rows = node.isRevoked ? [] : [row as unknown as Row];
    node.onAsk();
    return rows;
  };
  const database = { ask: answer, askInAccount: answer };
  const check = createTokenCheck({ database, forgetting, noteUse: () => undefined });
  const holds = async () => (await check(token.text, { address: "127.0.0.1", mayAsk: true })) !== undefined;
  return { node, forgetting, token, holds };
}

test("a token is looked up once while the node hears what is revoked, and every time while it does not", async () => {
  const { node, holds } = checkOne();
  for (let count = 0; count < 3; count += 1) expect(await holds()).toBe(true);
  expect(node.asked).toBe(2);
  node.isFresh = false;
  for (let count = 0; count < 3; count += 1) expect(await holds()).toBe(true);
  expect(node.asked).toBe(8);
});

test("a node that hears nothing and has no database takes no token", async () => {
  const { node, holds } = checkOne();
  expect(await holds()).toBe(true);
  Object.assign(node, { isFresh: false, isAway: true });
  await expect(holds()).rejects.toThrow("away");
});

test.each(["token", "account"] as const)("a %s that is forgotten is looked up again", async (kind) => {
  const { node, forgetting, token, holds } = checkOne();
  expect(await holds()).toBe(true);
  node.isRevoked = true;
  expect(await holds()).toBe(true);
  forgetting.forget([{ kind, subjectId: makeId() }]);
  expect(await holds()).toBe(true);
  forgetting.forget([{ kind, subjectId: kind === "token" ? token.id : token.accountId }]);
  expect(await holds()).toBe(false);
});

test("what was revoked while its answer was on its way is not remembered", async () => {
  const { node, forgetting, token, holds } = checkOne();
  node.onAsk = () => {
    node.isRevoked = node.asked === 2;
    if (node.isRevoked) forgetting.forget([{ kind: "token", subjectId: token.id }]);
  };
  expect(await holds()).toBe(true);
  expect(await holds()).toBe(false);
});

test("a token ends by the database's clock, also when it is remembered", async () => {
  const { node, holds } = checkOne(new Date(2000));
  expect(await holds()).toBe(true);
  node.now = 1999;
  expect(await holds()).toBe(true);
  node.now = 2000;
  expect(await holds()).toBe(false);
  expect(node.asked).toBe(2);
});
