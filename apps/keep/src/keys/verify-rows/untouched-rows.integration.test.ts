import { Hidden } from "@hearth-and-keep/logging";
import { expect, test } from "vitest";
import { deleteAccount } from "../../accounts/delete-account.ts";
import { fullGrant } from "../../authorization/grant.ts";
import { verifyDatabase } from "../../commands/verify-audit.ts";
import { type OpenedVault, openVault, startUnlimitedKeep } from "../../test/open-vault.ts";
import type { TestKeep } from "../../test/start-test-keep.ts";
import { readKeys } from "../key-encryption-key.ts";

/** Everything that adds, changes, moves or removes rows. */
async function changeEverything(vault: OpenedVault): Promise<void> {
  const secret = await vault.write("/app/A", "one");
  await vault.write("/app/A", "two");
  const purged = await vault.write("/app/deep/B", "x");
  const [, project] = await vault.json("POST", "/api/secrets/vaults", { name: "Project" });
  const [, gone] = await vault.json("POST", "/api/secrets/vaults", { name: "Gone" });
  const token = await vault.addToken({ scopes: ["secrets:read", "tokens:write"] });
  const [, self] = await vault.as(token).json("GET", "/api/secrets/tokens/self");
  const steps: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ["POST", "/import?format=dotenv&path=/imported/more", { content: "C=1\nD=2" }],
    ["POST", "/folders", { path: "/empty/inner" }],
    ["POST", "/folders/move", { from: "/app", to: "/moved" }],
    ["POST", "/folders/move", { from: "/empty", to: "/moved/empty" }],
    ["POST", "/folders", { path: "/empty" }],
    ["DELETE", "/folders?path=/imported&recursive=true"],
    ["DELETE", `/secrets/${secret.id}/versions/1`],
    ["DELETE", `/secrets/${secret.id}`],
    ["POST", `/secrets/${secret.id}/restore`],
    ["DELETE", `/secrets/${purged.id}?purge=true`],
    ["PATCH", "", { name: "Renamed" }],
    ["POST", "/rotate-key"],
    ["DELETE", `/api/secrets/vaults/${project.id}`],
    ["DELETE", `/api/secrets/vaults/${gone.id}?purge=true`],
    ["DELETE", `/api/secrets/tokens/${self.id}`],
  ];
  for (const [method, path, body] of steps) {
    const [status] = await vault.json(method, path, body);
    expect([method, path, status < 300]).toEqual([method, path, true]);
  }
}

/** Lets the log of a node grow. */
async function appendReads({
  person: { accountId, vaultId },
  services: { audit, nodeLog },
}: OpenedVault): Promise<void> {
  for (let version = 1; version <= 300; version += 1) {
    const event = { type: "value-read", secret: vaultId, path: "/a", version } as const;
    await audit.recordRead({ accountId, vaultId, by: "server", event });
    await nodeLog.append();
  }
}

async function verify({ database, key }: TestKeep): Promise<readonly [code: number, output: string]> {
  const printed: string[] = [];
  const wrapper = readKeys(new Hidden(key));
  const code = await verifyDatabase({}, { database, wrapper, print: (line) => printed.push(line) });
  return [code, printed.join("\n")];
}

test("nothing that Keep itself wrote is reported, while it runs and afterwards", {
  timeout: 120_000,
}, async () => {
  await using keep = await startUnlimitedKeep();
  const [vault, other] = [await openVault(keep), await openVault(keep)];
  const untouched = [0, expect.stringContaining("No changes detected")];
  const working = Promise.all([changeEverything(vault), changeEverything(other), appendReads(vault)]);
  for (let round = 0; round < 6; round += 1) expect(await verify(keep)).toEqual(untouched);
  await working;
  expect(await verify(keep)).toEqual(untouched);
  const { accountId, identityId } = other.person;
  const actor = { accountId, kind: "token", id: identityId, address: "127.0.0.1" } as const;
  await keep.database.inAccount(accountId, async (transaction) => {
    const [row] = await transaction.query<{ display_name: string }>({
      text: "SELECT display_name FROM account WHERE account_id = $1",
      values: [accountId],
    });
    const deletion = {
      actor: { ...actor, grant: fullGrant },
      confirmation: row?.display_name ?? "",
    };
    await deleteAccount(transaction, deletion, keep.services);
  });
  await keep.services.nodeLog.append();
  expect(await verify(keep)).toEqual(untouched);
});
