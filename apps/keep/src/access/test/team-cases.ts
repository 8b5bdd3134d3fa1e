import type { Row } from "./observe.ts";
import { organisationName } from "./team-fixture.ts";
import {
  awaitRotation,
  deleteRule,
  deleteVault,
  nextNumber,
  purgeVault,
  type Renewal,
  renewDeletedSecret,
  renewGrant,
  renewInvitation,
  renewMemberToken,
  renewPerson,
  renewRule,
  renewSecret,
  renewToken,
  renewUsableSecret,
  renewWholeGrant,
  restoreVault,
  revokeToken,
  type Target,
} from "./team-objects.ts";

/** A valid request of a route. */
type RequestCase = {
  /** Tells requests of the same route apart. */
  readonly note?: string;
  readonly query?: (target: Target) => string;
  readonly body?: (target: Target) => object;
  /** Instead of that of the target's secret. */
  readonly secretPath?: (target: Target) => string;
  /** Before the first request, and after each that succeeded. */
  readonly renew?: Renewal;
  /** Takes back what a request created. */
  readonly undo?: (target: Target, id: string) => Promise<unknown>;
  /** After the last request. */
  readonly finish?: (target: Target) => Promise<unknown>;
  /** What a limit to other paths makes of a success; nothing when absent. */
  readonly outside?: "out_of_reach" | "not_found";
  /** Ends the membership or the organisation, so each request needs another one. */
  readonly isFinal?: true;
};

export type TeamCase = Row & RequestCase;

const grantBody =
  (paths?: (target: Target) => readonly string[]) =>
  (target: Target): object => ({
    holder: { type: "person", id: target.objects.person },
    role: "reader",
    ...(paths === undefined ? {} : { paths: paths(target) }),
  });

const limitsOf = ({ objects, root }: Target) => ({ vault_ids: [objects.vault], paths: [`${root}/**`] });
const tokenBody =
  (owner: "me" | "organisation") =>
  (target: Target): object => ({
    name: "New",
    scopes: ["secrets:read"],
    for: owner,
    ...limitsOf(target),
  });

const ruleBody = (grant: (target: Target) => object) => (target: Target) => ({
  name: "New",
  provider: "generic",
  issuer: "https://issuer.example",
  conditions: [{ claim: "sub", values: ["deploy"] }],
  ...grant(target),
});
const readingRule = ruleBody((target) => ({ scopes: ["secrets:read"], ...limitsOf(target) }));

const rename = { body: () => ({ name: "Renamed" }) };
const rotation = { body: () => ({ grace_seconds: 0 }) };
const inFolder = ({ folder }: Target): string => `?path=${encodeURIComponent(folder)}`;
const newTags = { body: () => ({ tags: ["example"] }) };
const putAt = (path: string, value: string) => ({ op: "put", path, value });

/** Tokens of the organisation, and those of another member, which only owners may see. */
const tokenCases = (spec: RequestCase, renew?: Renewal): readonly RequestCase[] => [
  { outside: "out_of_reach", renew: renew ?? renewToken, ...spec },
  { renew: renewMemberToken, ...spec, note: "of another member" },
];

const organisationCases: Readonly<Record<string, readonly RequestCase[]>> = {
  "POST /api/organisations": [{ body: () => ({ name: "Another" }) }],
  "PATCH /api/organisations/:organisation": [{ body: () => ({ name: organisationName }) }],
  "DELETE /api/organisations/:organisation": [{ body: () => ({ confirm: organisationName }), isFinal: true }],
  "POST /api/organisations/:organisation/leave": [{ isFinal: true }],
  "PATCH /api/organisations/:organisation/members/:person": [{ body: () => ({ role: "auditor" }) }],
  "DELETE /api/organisations/:organisation/members/:person": [{ renew: renewPerson }],
  "POST /api/organisations/:organisation/invitations": [{ body: () => ({ role: "member" }) }],
  "DELETE /api/organisations/:organisation/invitations/:invitation": [{ renew: renewInvitation }],
  "POST /api/organisations/:organisation/teams": [{ body: () => ({ name: "Another" }) }],
  "PATCH /api/organisations/:organisation/teams/:team": [rename],
  "DELETE /api/organisations/:organisation/teams/:team": [{ renew: renewPerson }],
  "DELETE /api/organisations/:organisation/teams/:team/members/:person": [{ renew: renewPerson }],
  "POST /api/organisations/:organisation/vaults": [{ body: () => ({ name: "Another" }), undo: purgeVault }],
  "POST /api/organisations/:organisation/tokens": [
    { note: "for me", body: tokenBody("me"), undo: revokeToken },
    {
      note: "for the organisation",
      body: tokenBody("organisation"),
      undo: revokeToken,
      outside: "out_of_reach",
    },
  ],
  "GET /api/organisations/:organisation/tokens/:token": [
    {},
    { note: "of another member", renew: renewMemberToken },
  ],
  "PATCH /api/organisations/:organisation/tokens/:token": tokenCases(rename),
  "DELETE /api/organisations/:organisation/tokens/:token": tokenCases({}),
  "POST /api/organisations/:organisation/tokens/:token/rotate": tokenCases(rotation),
  "POST /api/organisations/:organisation/trust-rules": [
    { body: ruleBody(() => ({ scopes: ["vaults:write"] })), undo: deleteRule },
    { note: "that reads", body: readingRule, undo: deleteRule },
  ],
  "POST /api/organisations/:organisation/trust-rules/preview": [{ body: readingRule }],
  "PATCH /api/organisations/:organisation/trust-rules/:rule": [
    rename,
    { note: "what it accepts", body: () => ({ conditions: [{ claim: "sub", values: ["other"] }] }) },
  ],
  "DELETE /api/organisations/:organisation/trust-rules/:rule": [{ renew: renewRule }],
};

const accountCases: Readonly<Record<string, readonly RequestCase[]>> = {
  "GET /api/secrets/search": [{ query: () => "?query=key" }],
  "POST /api/secrets/tokens": [
    { body: () => ({ name: "New", scopes: ["tokens:read"] }) },
    {
      note: "for the vault",
      body: (target) => ({ name: "New", scopes: ["secrets:read"], ...limitsOf(target) }),
    },
  ],
  "POST /api/secrets/tokens/leaked": [{ body: () => ({ tokens: ["sk-svc-nothing"] }) }],
  "PATCH /api/secrets/tokens/:token": [rename],
  "DELETE /api/secrets/tokens/:token": [{ renew: renewToken }],
  "POST /api/secrets/tokens/:token/rotate": [rotation],
  "POST /api/secrets/vaults": [{ body: () => ({ name: "Another" }) }],
};

const vaultCases: Readonly<Record<string, readonly RequestCase[]>> = {
  "PATCH /api/secrets/vaults/:vault": [{ ...rename, outside: "out_of_reach" }],
  "DELETE /api/secrets/vaults/:vault": [{ renew: restoreVault, outside: "out_of_reach" }],
  "POST /api/secrets/vaults/:vault/restore": [
    { renew: deleteVault, finish: restoreVault, outside: "out_of_reach" },
  ],
  // To the organisation that it is in, which changes nothing.
  "POST /api/secrets/vaults/:vault/transfer": [{ body: ({ organisation }) => ({ to: organisation.id }) }],
  "POST /api/secrets/vaults/:vault/grants": [
    {
      note: "at a path",
      body: grantBody(({ root }) => [`${root}/**`]),
      renew: renewPerson,
      outside: "out_of_reach",
    },
    { note: "for the vault", body: grantBody(), renew: renewPerson, outside: "out_of_reach" },
  ],
  "DELETE /api/secrets/vaults/:vault/grants/:grant": [
    { note: "at a path", renew: renewGrant, outside: "out_of_reach" },
    { note: "for the vault", renew: renewWholeGrant, outside: "out_of_reach" },
  ],
  "GET /api/secrets/vaults/:vault/values": [{ query: inFolder, outside: "out_of_reach" }],
  "POST /api/secrets/vaults/:vault/import": [
    {
      query: (target) => `${inFolder(target)}&format=dotenv`,
      body: () => ({ content: "KEY=value\n" }),
      outside: "out_of_reach",
    },
  ],
  "GET /api/secrets/vaults/:vault/export": [
    { query: (target) => `${inFolder(target)}&format=json`, outside: "out_of_reach" },
  ],
  "GET /api/secrets/vaults/:vault/compare": [
    {
      query: ({ folder }) =>
        `?left=${encodeURIComponent(folder)}&right=${encodeURIComponent(`${folder}-other`)}`,
      outside: "out_of_reach",
    },
  ],
  "POST /api/secrets/vaults/:vault/promote": [
    {
      body: ({ folder }) => ({ from: folder, to: `${folder}-promoted-${nextNumber()}` }),
      outside: "out_of_reach",
    },
  ],
  "POST /api/secrets/vaults/:vault/batch": [
    {
      body: ({ folder }) => ({ operations: [putAt(`${folder}/batch`, "new")] }),
      outside: "out_of_reach",
    },
    {
      note: "with a deletion",
      body: ({ folder }) => ({
        operations: [putAt(`${folder}/batch`, "new"), { op: "delete", path: `${folder}/batch` }],
      }),
      outside: "out_of_reach",
    },
  ],
  "POST /api/secrets/vaults/:vault/folders": [
    { body: ({ folder }) => ({ path: `${folder}/new-${nextNumber()}` }), outside: "out_of_reach" },
  ],
  "DELETE /api/secrets/vaults/:vault/folders": [
    { query: (target) => `${inFolder(target)}&recursive=true`, renew: renewSecret, outside: "out_of_reach" },
  ],
  "POST /api/secrets/vaults/:vault/folders/move": [
    {
      body: ({ folder }) => ({ from: folder, to: `${folder}-moved` }),
      renew: renewSecret,
      outside: "out_of_reach",
    },
    {
      note: "elsewhere",
      body: ({ folder }) => ({ from: folder, to: `/elsewhere${folder}` }),
      renew: renewSecret,
      outside: "out_of_reach",
    },
  ],
  "GET /api/secrets/vaults/:vault/secrets": [{ query: inFolder }],
  "GET /api/secrets/vaults/:vault/folders": [{ query: inFolder }],
  "POST /api/secrets/vaults/:vault/rotate-key": [
    { renew: awaitRotation, finish: awaitRotation, outside: "out_of_reach" },
  ],
};

const secretCases: Readonly<Record<string, readonly RequestCase[]>> = {
  "PUT /api/secrets/vaults/:vault/secrets/by-path/*": [
    { body: () => ({ value: "another" }), renew: renewSecret, outside: "out_of_reach" },
    {
      note: "new",
      body: () => ({ value: "another" }),
      secretPath: ({ folder }) => `${folder}/new-${nextNumber()}`,
      outside: "out_of_reach",
    },
  ],
  "GET /api/secrets/vaults/:vault/secrets/by-path/*": [{ outside: "out_of_reach" }],
  "PATCH /api/secrets/vaults/:vault/secrets/by-path/*": [{ ...newTags, outside: "out_of_reach" }],
  "DELETE /api/secrets/vaults/:vault/secrets/by-path/*": [
    { renew: renewSecret, outside: "out_of_reach" },
    { note: "for good", query: () => "?purge=true", renew: renewSecret, outside: "out_of_reach" },
  ],
  "GET /api/secrets/vaults/:vault/secrets/:secret": [{ outside: "not_found" }],
  "PATCH /api/secrets/vaults/:vault/secrets/:secret": [
    { ...newTags, outside: "not_found" },
    {
      note: "egress rule",
      body: () => ({ egress: { hosts: ["api.example"], ask: false } }),
      outside: "not_found",
    },
    {
      note: "elsewhere",
      body: () => ({ folder: `/elsewhere/${nextNumber()}` }),
      renew: renewSecret,
      outside: "not_found",
    },
  ],
  "DELETE /api/secrets/vaults/:vault/secrets/:secret": [{ renew: renewSecret, outside: "not_found" }],
  "POST /api/secrets/vaults/:vault/secrets/:secret/restore": [
    { renew: renewDeletedSecret, outside: "not_found" },
  ],
  "GET /api/secrets/vaults/:vault/secrets/:secret/value": [{ outside: "not_found" }],
  "POST /api/secrets/vaults/:vault/secrets/:secret/use": [
    {
      body: () => ({ host: "api.example", method: "GET", path: "/" }),
      renew: renewUsableSecret,
      outside: "not_found",
    },
  ],
  "GET /api/secrets/vaults/:vault/values/by-path/*": [{ outside: "out_of_reach" }],
  "POST /api/secrets/vaults/:vault/secrets/:secret/versions/:version/restore": [{ outside: "not_found" }],
  "DELETE /api/secrets/vaults/:vault/secrets/:secret/versions/:version": [
    { renew: renewSecret, outside: "not_found" },
  ],
  "GET /api/secrets/vaults/:vault/secrets/:secret/versions": [{ outside: "not_found" }],
};

const casesByRoute = { ...organisationCases, ...accountCases, ...vaultCases, ...secretCases };

/** Ends its principal; `logins/` tests it. */
const endsPrincipal = ({ method, path }: Row): boolean =>
  method === "DELETE" && path === "/api/secrets/tokens/self";

/** Routes that concern organisations, or vaults and what is in them; `secrets/approvals/` tests those of proposed changes. */
const isCovered = (row: Row): boolean => !endsPrincipal(row) && isInOrganisation(row);

const isInOrganisation = ({ path }: Row): boolean =>
  !path.startsWith("/api/secrets/vaults/:vault/changes") &&
  (/^\/api\/(?:organisations|secrets\/(?:search|tokens|vaults|audit|operations))(?:\/|$)/u.test(path) ||
    /:(?:organisation|vault)(?:\/|$)/u.test(path));

/** At least one for each covered route, also for one that is not in the lists above. */
export function listCases(routes: readonly Row[]): readonly TeamCase[] {
  return routes.filter(isCovered).flatMap(({ method, path }) => {
    const cases = casesByRoute[`${method} ${path}`] ?? [{}];
    return cases.map((each) => ({ ...each, method, path }));
  });
}

/** As in the first column of the table. */
export function labelOf({ method, path, note }: TeamCase): string {
  return note === undefined ? `${method} ${path}` : `${method} ${path} (${note})`;
}
