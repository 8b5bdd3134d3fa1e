import { generateKeyPairSync } from "node:crypto";
import { Client } from "pg";
import { expect, test } from "vitest";
import { startTestKeep, type TestKeep } from "../test/start-test-keep.ts";

async function servedKeys(keep: TestKeep): Promise<unknown> {
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: ["audit:read"] });
  const response = await keep.request("/api/secrets/audit/keys", { token });
  expect(response.status).toBe(200);
  return response.json();
}

test("a public key that was replaced in the database is not served as the key of the audit log", async () => {
  await using keep = await startTestKeep();
  const genuine = await servedKeys(keep);
  const forged = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "der" });
  const superuser = new Client(keep.databaseUrl);
  await superuser.connect();
  const { rowCount } = await superuser.query(
    "UPDATE server_key SET public_key = $1 WHERE purpose = 'signing'",
    [forged],
  );
  await superuser.end();
  expect(rowCount).toBe(1);
  await using restarted = await startTestKeep({ databaseUrl: keep.databaseUrl, key: keep.key });
  expect(await servedKeys(restarted)).toEqual(genuine);
});
