import { afterAll, beforeAll, expect, test } from "vitest";
import {
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  read,
  share,
  statusOf,
  statusWith,
  type TestOrganisation,
  valueOf,
  write,
} from "../organisations/test/shared-vault.ts";
import { join, type Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";

let keep: TestKeep;
let acme: TestOrganisation;
/** Manages the vaults that it creates; not an owner of the organisation. */
let creator: Teammate;
beforeAll(async () => {
  keep = await startUnlimitedKeep();
  acme = await createOrganisation(keep);
  creator = await acme.add();
});
afterAll(() => keep[Symbol.asyncDispose]());

test("references to other vaults resolve only for those who may read both", async () => {
  const [vault, other] = [
    await createVault(creator, acme.organisation),
    await createVault(creator, acme.organisation, ["/db/KEY", "/ops/KEY"]),
  ];
  await write(creator, vault, ["/A", `<\${${idOf(other)}:/db/KEY}>`]);
  await write(creator, vault, ["/B", `<\${${idOf(other)}:/ops/KEY}>`]);
  const person = await acme.add();
  const expand = async (path: string) => {
    const address = `${valueOf(vault, path)}?expand=references`;
    const { status, body } = await person.send<{ value?: string; code?: string }>("GET", address);
    return [status, body.value ?? body.code];
  };
  const missing = [422, "reference_missing"];
  await share(creator, vault, { holder: personHolder(person), role: "editor" });
  expect(await expand("/A")).toEqual(missing);
  const grant = { holder: personHolder(person), role: "reader", paths: ["/db/*"] } as const;
  const atDatabase = await share(creator, other, grant);
  expect([await expand("/A"), await expand("/B")]).toEqual([[200, "</db/KEY>"], missing]);
  const values = `${vault}/values?path=/&expand=references&names=`;
  expect(await statusOf(person, "GET", `${values}A`)).toBe(200);
  expect(await statusOf(person, "GET", `${values}A,B`)).toBe(422);
  // Nor is a reference written to what its writer may not read.
  const refer = (path: string) =>
    statusOf(person, "PUT", `${vault}/secrets/by-path/C`, { value: `\${${idOf(other)}:${path}}` });
  expect([await refer("/db/KEY"), await refer("/ops/KEY")]).toEqual([201, 403]);
  expect(await statusOf(creator, "DELETE", atDatabase)).toBe(204);
  expect(await expand("/A")).toEqual(missing);
});

test("references do not lead out of the organisation, whoever may read both ends", async () => {
  const globex = await createOrganisation(keep);
  const foreign = await createVault(globex.owner, globex.organisation, ["/KEY"]);
  const [vault, other] = [
    await createVault(creator, acme.organisation),
    await createVault(creator, acme.organisation, ["/KEY"]),
  ];
  const personal = `/api/secrets/vaults/${globex.owner.vaultId}`;
  await write(globex.owner, personal, ["/KEY", "own"]);
  await join(acme.owner, acme.organisation, [globex.owner, "member"]);
  await share(creator, vault, { holder: personHolder(globex.owner), role: "reader" });
  await share(creator, other, { holder: personHolder(globex.owner), role: "reader" });
  // A token of the organisation, for all its vaults, may refer to vaults that it does not know.
  const { text } = await keep.addToken(acme, { scopes: ["secrets:write", "secrets:read"] });
  const expanded: number[] = [];
  for (const target of [other, foreign, personal]) {
    const body = { value: `\${${idOf(target)}:/KEY}` };
    expect(await statusWith(keep, text, "PUT", `${vault}/secrets/by-path/A`, body)).toBeLessThan(300);
    expanded.push(await statusOf(globex.owner, "GET", `${valueOf(vault, "/A")}?expand=references`));
    expect(await read(globex.owner, target, "/KEY")).toBe(200);
  }
  expect(expanded).toEqual([200, 422, 422]);
});
