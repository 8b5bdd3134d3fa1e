/**
 * @module
 * A person with a vault and a token, with helpers for imports, exports and bulk reads.
 * Imported by tests only.
 */
import { expect } from "vitest";
import type { TestKeep, TestPerson, TestRequest } from "../../../test/start-test-keep.ts";

export const exchangeScopes = ["vaults:write", "secrets:read", "secrets:write", "audit:read"] as const;

type Json = Readonly<Record<string, unknown>>;

export type VaultFixture = {
  readonly person: TestPerson;
  readonly token: string;
  /** The path is relative to the vault's URL; a request with a body is a POST. */
  request(path: string, options?: TestRequest): Promise<Response>;
  importFile(content: string, query: string): Promise<Json>;
  exportFile(query: string): Promise<string>;
  /** Values by path. */
  values(query: string, token?: string): Promise<Readonly<Record<string, string>>>;
  /** The relevant fields of a problem document. */
  problem(path: string, options?: TestRequest): Promise<Json>;
  /** Event bodies of the vault's audit log, oldest first. */
  auditEvents(): Promise<readonly Json[]>;
  auditTypes(): Promise<readonly unknown[]>;
};

export async function createFixture(keep: TestKeep): Promise<VaultFixture> {
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: [...exchangeScopes] });
  return fixtureFor(keep, { person, token, vaultId: person.vaultId });
}

/** A fixture for a second vault of the same person. */
export async function addSecondVault(keep: TestKeep, { person, token }: VaultFixture) {
  const created = await keep.request("/api/secrets/vaults", {
    method: "POST",
    token,
    body: { name: "Second" },
  });
  // The response schema.
  const { id: vaultId } = (await created.json()) as { id: string };
  return { vaultId, ...fixtureFor(keep, { person, token, vaultId }) };
}

type FixtureOptions = { readonly person: TestPerson; readonly token: string; readonly vaultId: string };

function fixtureFor(keep: TestKeep, { person, token: ownToken, vaultId }: FixtureOptions): VaultFixture {
  const request = (path: string, options: TestRequest = {}) =>
    keep.request(`/api/secrets/vaults/${vaultId}/${path}`, {
      method: options.body === undefined ? "GET" : "POST",
      token: ownToken,
      ...options,
    });
  const bodies = async (): Promise<readonly Json[]> => {
    const rows = await keep.database.queryInAccount<{ body: string }>(person.accountId, {
      text: "SELECT body FROM audit_record WHERE account_id = entered.account::uuid AND stream_id = $2 ORDER BY number",
      values: [vaultId],
    });
    return rows.map(({ body }) => JSON.parse(body));
  };
  return {
    person,
    token: ownToken,
    request,
    auditEvents: bodies,
    auditTypes: async () => (await bodies()).map(({ type }) => type),
    importFile: async (content, query) => succeed(await request(`import?${query}`, { body: { content } })),
    exportFile: async (query) => String((await succeed(await request(`export?${query}`)))["content"]),
    values: async (query, token = ownToken) => {
      // The response schema.
      const { items } = (await succeed(await request(`values?${query}`, { token }))) as {
        items: { path: string; value: string }[];
      };
      return Object.fromEntries(items.map(({ path, value }) => [path, value]));
    },
    problem: async (path, options) => {
      const response = await request(path, options);
      // A problem document.
      const { status, code, detail, errors } = (await response.json()) as Json;
      return { status, code, detail, errors };
    },
  };
}

async function succeed(response: Response): Promise<Json> {
  const text = await response.text();
  expect([response.status, response.status === 200 ? "" : text]).toEqual([200, ""]);
  return JSON.parse(text);
}
