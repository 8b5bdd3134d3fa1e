import { type AccessFixture, type Objects, secretPath } from "./fixture.ts";

export type Example = {
  /** Query string with the question mark. */
  readonly query?: string;
  readonly body?: object | ((fixture: AccessFixture) => object);
  /** Sets up the state that the request needs to succeed. */
  readonly prepare?: (fixture: AccessFixture) => Promise<unknown>;
};

const exampleRule = {
  name: "Deploy",
  provider: "generic",
  issuer: "https://issuer.example",
  conditions: [{ claim: "sub", values: ["deploy"] }],
  scopes: ["vaults:read"],
};

/** A request that succeeds with full access, for each route that needs more than its path. */
export const examples: Readonly<Record<string, Example>> = {
  "DELETE /api/account": { body: ({ own }) => ({ confirm: own.displayName }) },
  "POST /api/organisations": { body: { name: "Acme" } },
  "PATCH /api/organisations/:organisation": { body: { name: "Renamed" } },
  "DELETE /api/organisations/:organisation": {
    body: ({ own }) => ({ confirm: own.displayName }),
  },
  "PATCH /api/organisations/:organisation/members/:person": { body: { role: "auditor" } },
  "POST /api/organisations/:organisation/invitations": { body: { role: "member" } },
  "POST /api/organisations/:organisation/teams": { body: { name: "Operations" } },
  "PATCH /api/organisations/:organisation/teams/:team": { body: { name: "Renamed" } },
  "POST /api/organisations/:organisation/vaults": { body: { name: "Shared" } },
  "POST /api/organisations/:organisation/tokens": {
    body: { name: "Deploy", scopes: ["vaults:read"], for: "me" },
  },
  "PATCH /api/organisations/:organisation/tokens/:token": { body: { name: "Renamed" } },
  "POST /api/organisations/:organisation/tokens/:token/rotate": { body: { grace_seconds: 0 } },
  "POST /api/organisations/:organisation/trust-rules": { body: exampleRule },
  "POST /api/organisations/:organisation/trust-rules/preview": { body: exampleRule },
  "PATCH /api/organisations/:organisation/trust-rules/:rule": { body: { name: "Renamed" } },
  "POST /api/invitations/accept": { body: { code: "no code" } },
  "GET /api/secrets/search": { query: "?query=key" },
  "POST /api/secrets/vaults": { body: { name: "Another" } },
  "PATCH /api/secrets/vaults/:vault": { body: { name: "Renamed" } },
  "POST /api/secrets/vaults/:vault/restore": { prepare: requestAsAdmin("DELETE", "/vaults/:vault") },
  // To the account that it is in, which changes nothing.
  "POST /api/secrets/vaults/:vault/transfer": { body: ({ own }) => ({ to: own.person.accountId }) },
  "POST /api/secrets/vaults/:vault/grants": {
    body: ({ own }) => ({ holder: { type: "person", id: own.objects.person }, role: "reader" }),
  },
  "PUT /api/secrets/vaults/:vault/secrets/by-path/*": { body: { value: "third" } },
  "PATCH /api/secrets/vaults/:vault/secrets/by-path/*": { body: { tags: ["example"] } },
  "PATCH /api/secrets/vaults/:vault/secrets/:secret": { body: { tags: ["example"] } },
  "POST /api/secrets/vaults/:vault/secrets/:secret/use": {
    body: { host: "api.example", method: "GET", path: "/" },
    prepare: async ({ keep, own }) => {
      const path = `/api/secrets/vaults/${own.objects.vault}/secrets/${own.objects.secret}`;
      const body = { egress: { hosts: ["api.example"], ask: false } };
      await keep.request(path, { method: "PATCH", token: own.admin, body });
    },
  },
  "POST /api/secrets/vaults/:vault/secrets/:secret/restore": {
    prepare: requestAsAdmin("DELETE", "/vaults/:vault/secrets/:secret"),
  },
  "POST /api/secrets/vaults/:vault/batch": {
    body: { operations: [{ op: "put", path: `/${secretPath}`, value: "third" }] },
  },
  "POST /api/secrets/vaults/:vault/changes": {
    body: {
      reason: "Example",
      operations: [{ op: "put", path: `/${secretPath}`, value: "third" }],
    },
  },
  "POST /api/secrets/vaults/:vault/changes/:change/approve": { body: { fingerprint: "0".repeat(64) } },
  "POST /api/secrets/vaults/:vault/folders": { body: { path: "/new" } },
  "DELETE /api/secrets/vaults/:vault/folders": { query: "?path=/app&recursive=true" },
  "POST /api/secrets/vaults/:vault/folders/move": { body: { from: "/app", to: "/moved" } },
  "POST /api/secrets/vaults/:vault/import": { query: "?format=dotenv", body: { content: "KEY=value\n" } },
  "GET /api/secrets/vaults/:vault/compare": { query: "?left=/app&right=/other" },
  "POST /api/secrets/vaults/:vault/promote": { body: { from: "/app", to: "/other" } },
  "GET /api/secrets/vaults/:vault/export": { query: "?format=json" },
  "POST /api/secrets/tokens": { body: { name: "child", scopes: ["tokens:read"] } },
  "PATCH /api/secrets/tokens/:token": { body: { name: "Renamed" } },
  "POST /api/secrets/tokens/:token/rotate": { body: { grace_seconds: 0 } },
  "POST /api/secrets/trust-rules": { body: exampleRule },
  "POST /api/secrets/trust-rules/preview": { body: exampleRule },
  "PATCH /api/secrets/trust-rules/:rule": { body: { name: "Renamed" } },
  "POST /api/secrets/tokens/leaked": { body: { tokens: ["sk-svc-nothing"] } },
};

/** The route's path with its parameters filled in. */
export function fillPath(path: string, objects: Objects): string {
  const isInOrganisation = path.startsWith("/api/organisations/");
  const token = isInOrganisation ? objects.organisationToken : objects.token;
  const rule = isInOrganisation ? objects.organisationRule : objects.rule;
  // Path parameters are named like the objects; the provider is the same for all principals.
  const values = { ...objects, token, rule, provider: "code-hosting" } as Readonly<Record<string, string>>;
  return path.replaceAll(/:(\w+)/gu, (_whole, name: string) => values[name] ?? name).replace("*", secretPath);
}

function requestAsAdmin(method: string, path: string): (fixture: AccessFixture) => Promise<unknown> {
  return async ({ keep, own }) => {
    const address = `/api/secrets${fillPath(path, own.objects)}`;
    const response = await keep.request(address, { method, token: own.admin });
    if (!response.ok) throw new Error(`Cannot prepare: ${method} ${path} returned ${response.status}`);
    return undefined;
  };
}
