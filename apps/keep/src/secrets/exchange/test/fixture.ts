/**
 * @module
 * Somebody with a vault and a token, and what tests of imports, exports and many values do with them.
 * Imported by tests only.
 */
import { expect } from "vitest";
import type { Asked, TestKeep, TestPerson } from "../../../test/start-test-keep.ts";

export const everything = ["vaults:write", "secrets:read", "secrets:write", "audit:read"] as const;

type Json = Readonly<Record<string, unknown>>;

export type Stage = {
  readonly person: TestPerson;
  readonly token: string;
  /** Below the vault's own address; with a body it is a POST. */
  ask(path: string, asked?: Asked): Promise<Response>;
  importFile(content: string, query: string): Promise<Json>;
  exportFile(query: string): Promise<string>;
  /** By their paths, as they stand in the answer. */
  values(query: string, token?: string): Promise<Readonly<Record<string, string>>>;
  /** What matters of a problem document. */
  refusal(path: string, asked?: Asked): Promise<Json>;
  /** What the audit log of the vault says, in its order. */
  bodies(): Promise<readonly Json[]>;
  events(): Promise<readonly unknown[]>;
};

export async function setStage(keep: TestKeep): Promise<Stage> {
  const person = await keep.addPerson();
  const { text: token } = await keep.addToken(person, { scopes: [...everything] });
  return stageIn(keep, { person, token, vaultId: person.vaultId });
}

/** The same person in another vault. */
export async function setSecondStage(keep: TestKeep, { person, token }: Stage) {
  const made = await keep.ask("/api/secrets/vaults", { method: "POST", token, body: { name: "Second" } });
  // As its schema says.
  const { id: vaultId } = (await made.json()) as { id: string };
  return { vaultId, ...stageIn(keep, { person, token, vaultId }) };
}

type Place = { readonly person: TestPerson; readonly token: string; readonly vaultId: string };

function stageIn(keep: TestKeep, { person, token: ownToken, vaultId }: Place): Stage {
  const ask = (path: string, asked: Asked = {}) =>
    keep.ask(`/api/secrets/vaults/${vaultId}/${path}`, {
      method: asked.body === undefined ? "GET" : "POST",
      token: ownToken,
      ...asked,
    });
  const bodies = async (): Promise<readonly Json[]> => {
    const rows = await keep.database.askInAccount<{ body: string }>(person.accountId, {
      text: "SELECT body FROM audit_event WHERE account_id = entered.account::uuid AND chain_id = $2 ORDER BY seq",
      values: [vaultId],
    });
    return rows.map(({ body }) => JSON.parse(body));
  };
  return {
    person,
    token: ownToken,
    ask,
    bodies,
    events: async () => (await bodies()).map(({ type }) => type),
    importFile: async (content, query) => succeed(await ask(`import?${query}`, { body: { content } })),
    exportFile: async (query) => String((await succeed(await ask(`export?${query}`)))["content"]),
    values: async (query, token = ownToken) => {
      // As its schema says.
      const { items } = (await succeed(await ask(`values?${query}`, { token }))) as {
        items: { path: string; value: string }[];
      };
      return Object.fromEntries(items.map(({ path, value }) => [path, value]));
    },
    refusal: async (path, asked) => {
      const response = await ask(path, asked);
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
