import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examples, fillPath } from "../access/test/example-requests.ts";
import { missingObjects } from "../access/test/fixture.ts";
import { generateId } from "../generate-id.ts";
import {
  createOrganisation,
  createVault,
  idOf,
  personHolder,
  type TestOrganisation,
} from "../organisations/test/shared-vault.ts";
import type { Teammate } from "../organisations/test/start-team.ts";
import { routes } from "../routes.ts";
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

const vaultRows = routes.filter(({ path }) => path.includes("/:vault"));

describe("a vault that one may not see responds like a missing one", () => {
  let member: Teammate;
  let hidden: string;
  let foreign: string;
  beforeAll(async () => {
    const globex = await createOrganisation(keep);
    member = await acme.add();
    hidden = idOf(await createVault(creator, acme.organisation, ["/app/key"]));
    foreign = idOf(await createVault(globex.owner, globex.organisation, ["/app/key"]));
  });

  test.each(vaultRows)("$method $path", async ({ method, path }) => {
    const { query = "", body } = examples[`${method} ${path}`] ?? {};
    // Of a body that names objects, there is an example for this member.
    const own = path.endsWith("/transfer")
      ? { to: member.accountId }
      : { holder: personHolder(member), role: "reader" };
    const example = typeof body === "function" ? own : body;
    const respond = async (vault: string, sent: object | undefined) => {
      const address = fillPath(path, { ...missingObjects(), vault }) + query;
      const response = await member.send(method, address, sent);
      return { ...response, body: { ...response.body, request_id: "" } };
    };
    // Nor does it matter whether the request is valid.
    const statuses: number[] = [];
    for (const sent of example === undefined ? [undefined] : [example, { unknown: 1 }]) {
      const missing = await respond(generateId(), sent);
      expect(await respond(hidden, sent)).toEqual(missing);
      expect(await respond(foreign, sent)).toEqual(missing);
      statuses.push(missing.status);
    }
    expect(statuses[0]).toBe(404);
  });
});
