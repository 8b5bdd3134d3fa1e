import type { Random } from "../../../test/seeded-random.ts";
import { folderOf } from "../../secret-path.ts";

/** What a request is about: a secret with two versions, and a deleted one in the same folder. */
export type Target = {
  readonly vault: string;
  readonly path: string;
  readonly id: string;
  readonly deletedId: string;
  /** A pending change of the vault. */
  readonly change: string;
  /** Of the organisation. */
  readonly name: string;
};

type RouteRequest = {
  /** Appended to the route's path. */
  readonly query?: string;
  readonly body?: object;
};

/** A write route of the route table, and requests that change something at the target through it. */
type Requests = (target: Target, random: Random) => RouteRequest;

/** Has a file name for imports, and is in no protected folder. */
export const freePath = "/free/K1";

const folder = ({ path }: Target): string => folderOf(path);
const nameOf = ({ path }: Target): string => path.slice(path.lastIndexOf("/") + 1);

const changesOf = (target: Target, random: Random): object =>
  random.pick([
    { tags: [`tag-${random.between(1, 1000)}`] },
    { note: `note ${random.between(1, 1000)}` },
    { name: `${nameOf(target)}_RENAMED` },
    { folder: "/moved" },
    { egress: { hosts: [`host-${random.between(1, 1000)}.example`], ask: false } },
  ]);

const operationsOf = ({ path }: Target, random: Random): readonly object[] => [
  random.pick<object>([
    { op: "put", path, value: `batch ${random.between(1, 1000)}` },
    { op: "delete", path },
    { op: "move", path, to: "/moved/BATCH" },
    { op: "move", path: freePath, to: `${path}_MOVED` },
    { op: "put", path: `${path}_ADDED`, value: "added" },
  ]),
];

const secretsOf = "/api/secrets/vaults/:vault/secrets";

/**
 * For every write route that can reach a vault's contents. The first request that `Random.pick` makes from equal numbers
 * does not matter: each of them must be refused for a protected target.
 */
export const requestsByRoute: Readonly<Record<string, Requests>> = {
  [`PUT ${secretsOf}/by-path/*`]: (_target, random) => ({
    body: { value: `written ${random.between(1, 1000)}` },
  }),
  [`PATCH ${secretsOf}/by-path/*`]: (target, random) => ({ body: changesOf(target, random) }),
  [`DELETE ${secretsOf}/by-path/*`]: (_target, random) => ({ query: random.pick(["", "?purge=true"]) }),
  [`PATCH ${secretsOf}/:secret`]: (target, random) => ({ body: changesOf(target, random) }),
  [`DELETE ${secretsOf}/:secret`]: (_target, random) => ({ query: random.pick(["", "?purge=true"]) }),
  [`POST ${secretsOf}/:secret/restore`]: () => ({}),
  [`POST ${secretsOf}/:secret/versions/:version/restore`]: () => ({}),
  [`DELETE ${secretsOf}/:secret/versions/:version`]: () => ({}),
  "POST /api/secrets/vaults/:vault/batch": (target, random) => ({
    body: { operations: operationsOf(target, random) },
  }),
  "POST /api/secrets/vaults/:vault/import": (target) => ({
    query: `?format=dotenv&mode=overwrite&path=${folder(target)}`,
    body: { content: `${nameOf(target)}=imported\nIMPORTED=new\n` },
  }),
  "POST /api/secrets/vaults/:vault/promote": (target) => ({ body: { from: "/free", to: folder(target) } }),
  "POST /api/secrets/vaults/:vault/folders": (target, random) => ({
    body: { path: `${folder(target)}/new-${random.between(1, 1000)}` },
  }),
  "DELETE /api/secrets/vaults/:vault/folders": (target) => ({
    query: `?recursive=true&path=${folder(target)}`,
  }),
  "POST /api/secrets/vaults/:vault/folders/move": (target, random) => ({
    body: random.pick([
      { from: folder(target), to: "/moved" },
      { from: "/free", to: `${folder(target)}/free` },
    ]),
  }),
  "PATCH /api/secrets/vaults/:vault": (_target, random) => ({
    body: random.pick<object>([
      { protected_paths: [] },
      { protected_paths: ["/nothing/**"] },
      { environments: [] },
      { base: null },
      { base: "/free" },
      { most_versions: 1 },
      { protected_paths: [], environments: [], base: null },
    ]),
  }),
  "DELETE /api/secrets/vaults/:vault": (_target, random) => ({ query: random.pick(["", "?purge=true"]) }),
  "POST /api/secrets/vaults/:vault/restore": () => ({}),
  // That a person cannot transfer a protected vault either is tested with the other refusals of transfers.
  "POST /api/secrets/vaults/:vault/transfer": ({ vault }) => ({ body: { to: vault.split("/").at(-1) } }),
  "POST /api/secrets/vaults/:vault/rotate-key": () => ({}),
  "POST /api/secrets/vaults/:vault/changes": (target, random) => ({
    body: random.pick<object>([
      { reason: "Proposed alone", operations: operationsOf(target, random) },
      { reason: "Proposed alone", protected_paths: [] },
      { reason: "Proposed alone", delete_vault: true },
    ]),
  }),
  "DELETE /api/secrets/vaults/:vault/changes/:change": () => ({}),
  "POST /api/secrets/vaults/:vault/changes/:change/approve": () => ({
    body: { fingerprint: "0".repeat(64) },
  }),
  "POST /api/secrets/vaults/:vault/changes/:change/reject": () => ({}),
  "DELETE /api/organisations/:organisation": ({ name }) => ({ body: { confirm: name } }),
};

/** Routes that change nothing in a vault: of people, their sessions, tokens and organisations, new vaults, and a use. */
export const routesWithoutContents: readonly string[] = [
  `POST ${secretsOf}/:secret/use`,
  "POST /auth/login/:provider",
  "POST /auth/logout",
  "POST /auth/link/:provider",
  "POST /auth/confirm/:provider",
  "POST /login/authorize",
  "POST /login/device",
  "POST /api/logins/device",
  "POST /api/logins/token",
  "POST /operator",
  "POST /api/operator/accounts/:account/suspend",
  "POST /api/operator/accounts/:account/resume",
  "POST /invitation/:code",
  "POST /api/invitations/accept",
  "POST /api/organisations",
  "PATCH /api/organisations/:organisation",
  "POST /api/organisations/:organisation/leave",
  "PATCH /api/organisations/:organisation/members/:person",
  "DELETE /api/organisations/:organisation/members/:person",
  "POST /api/organisations/:organisation/invitations",
  "DELETE /api/organisations/:organisation/invitations/:invitation",
  "POST /api/organisations/:organisation/teams",
  "PATCH /api/organisations/:organisation/teams/:team",
  "DELETE /api/organisations/:organisation/teams/:team",
  "PUT /api/organisations/:organisation/teams/:team/members/:person",
  "DELETE /api/organisations/:organisation/teams/:team/members/:person",
  "POST /api/organisations/:organisation/vaults",
  "POST /api/organisations/:organisation/tokens",
  "PATCH /api/organisations/:organisation/tokens/:token",
  "DELETE /api/organisations/:organisation/tokens/:token",
  "POST /api/organisations/:organisation/tokens/:token/rotate",
  "POST /api/organisations/:organisation/trust-rules",
  "POST /api/organisations/:organisation/trust-rules/preview",
  "PATCH /api/organisations/:organisation/trust-rules/:rule",
  "DELETE /api/organisations/:organisation/trust-rules/:rule",
  "DELETE /api/account",
  "DELETE /api/account/sessions",
  "DELETE /api/account/sessions/:session",
  "DELETE /api/account/identities/:identity",
  "POST /api/secrets/tokens",
  "POST /api/secrets/tokens/leaked",
  "POST /api/secrets/tokens/exchange",
  "DELETE /api/secrets/tokens/self",
  "PATCH /api/secrets/tokens/:token",
  "DELETE /api/secrets/tokens/:token",
  "POST /api/secrets/tokens/:token/rotate",
  "POST /api/secrets/trust-rules",
  "POST /api/secrets/trust-rules/preview",
  "PATCH /api/secrets/trust-rules/:rule",
  "DELETE /api/secrets/trust-rules/:rule",
  "POST /api/secrets/vaults",
  "POST /api/secrets/vaults/:vault/grants",
  "DELETE /api/secrets/vaults/:vault/grants/:grant",
];
