import { type AccessFixture, type Objects, secretPath } from "./fixture.ts";

export type Example = {
  /** After the path, with its question mark. */
  readonly query?: string;
  readonly body?: object | ((stage: AccessFixture) => object);
  /** What must be so before the request can go well. */
  readonly prepare?: (stage: AccessFixture) => Promise<unknown>;
};

/** A request that would go well for somebody who may everything, for each row that needs more than its path. */
export const examples: Readonly<Record<string, Example>> = {
  "DELETE /api/account": { body: ({ own }) => ({ confirm: own.displayName }) },
  "POST /api/secrets/vaults": { body: { name: "Another" } },
  "PATCH /api/secrets/vaults/:vault": { body: { name: "Renamed" } },
  "POST /api/secrets/vaults/:vault/restore": { prepare: asAdmin("DELETE", "/vaults/:vault") },
  "PUT /api/secrets/vaults/:vault/secrets/by-path/*": { body: { value: "third" } },
  "PATCH /api/secrets/vaults/:vault/secrets/:secret": { body: { tags: ["example"] } },
  "POST /api/secrets/vaults/:vault/secrets/:secret/restore": {
    prepare: asAdmin("DELETE", "/vaults/:vault/secrets/:secret"),
  },
  "POST /api/secrets/vaults/:vault/batch": {
    body: { operations: [{ op: "put", path: `/${secretPath}`, value: "third" }] },
  },
  "POST /api/secrets/vaults/:vault/folders": { body: { path: "/made" } },
  "DELETE /api/secrets/vaults/:vault/folders": { query: "?path=/app&recursive=true" },
  "POST /api/secrets/vaults/:vault/folders/move": { body: { from: "/app", to: "/moved" } },
  "POST /api/secrets/vaults/:vault/import": { query: "?format=dotenv", body: { content: "KEY=value\n" } },
  "GET /api/secrets/vaults/:vault/export": { query: "?format=json" },
  "POST /api/secrets/tokens": { body: { name: "child", scopes: ["tokens:read"] } },
  "PATCH /api/secrets/tokens/:token": { body: { name: "Renamed" } },
  "POST /api/secrets/tokens/:token/rotate": { body: { grace_seconds: 0 } },
  "POST /api/secrets/tokens/leaked": { body: { tokens: ["sk-svc-nothing"] } },
};

/** The path of a row with these objects in it. */
export function fillPath(path: string, objects: Objects): string {
  // The parameters of paths are named as the objects are; what else there is, is the same for everybody.
  const values = { ...objects, provider: "code-hosting" } as Readonly<Record<string, string>>;
  return path.replaceAll(/:(\w+)/gu, (_whole, name: string) => values[name] ?? name).replace("*", secretPath);
}

function asAdmin(method: string, path: string): (stage: AccessFixture) => Promise<unknown> {
  return async ({ keep, own }) => {
    const address = `/api/secrets${fillPath(path, own.objects)}`;
    const response = await keep.ask(address, { method, token: own.admin });
    if (!response.ok) throw new Error(`Cannot prepare: ${method} ${path} gave ${response.status}`);
    return undefined;
  };
}
