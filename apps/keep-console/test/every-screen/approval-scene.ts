import type { Page } from "playwright-core";
import type { ConsoleFixture } from "../console-fixture.ts";
import { accountOf, createSharedVault, shareVault } from "../team-fixture.ts";

/** A vault with protected paths, of which the owner and the member are managers, and its changes. */
export type ApprovalScene = {
  readonly vault: string;
  /** Pending, by the member: operations of every kind. */
  readonly change: string;
  /** Pending, by the owner. */
  readonly own: string;
  /** Pending, by the member: settings. */
  readonly settings: string;
  /** Pending, by the member; the secret was changed afterwards. */
  readonly outdated: string;
};

type People = Readonly<Record<"owner" | "member" | "operator", Page>>;

export async function prepareApprovalScene(
  keep: ConsoleFixture,
  people: People,
  organisation: string,
): Promise<ApprovalScene> {
  const vault = await createProtectedVault(keep, people, organisation);
  const { owner, member } = people;
  const at = `/api/secrets/vaults/${vault}/changes`;
  const propose = async (page: Page, body: object): Promise<string> =>
    (await keep.request<{ id: string }>(page, at, { method: "POST", body })).id;
  const outdated = await propose(member, writeFlag("Turn the flag on for everyone", "on"));
  const approved = await propose(owner, writeFlag("Turn the flag on for half of the users", "half"));
  const { fingerprint } = await keep.request<{ fingerprint: string }>(member, `${at}/${approved}`);
  await keep.request(member, `${at}/${approved}/approve`, { method: "POST", body: { fingerprint } });
  const rejected = await propose(member, writeFlag("Delete the old key, is it still used?", "no"));
  await keep.request(owner, `${at}/${rejected}/reject`, { method: "POST" });
  const own = await propose(owner, {
    reason: "Rotate the Stripe key after the audit of May, as agreed with the payments team, OPS-2718",
    operations: [{ op: "put", path: "/prod/api/STRIPE_KEY", value: "new" }],
  });
  const settings = await propose(member, {
    reason: "Production moves to /live",
    protected_paths: ["/live/**"],
    environments: ["dev", "live"],
    most_versions: 5,
  });
  const change = await propose(member, databaseMove);
  return { vault, change, own, settings, outdated };
}

async function createProtectedVault(
  keep: ConsoleFixture,
  { owner, member, operator }: People,
  organisation: string,
): Promise<string> {
  const secrets = {
    "prod/DATABASE_URL": "postgres://old",
    "prod/api/STRIPE_KEY": "old",
    "prod/LEGACY_KEY": "unused",
    "prod/FEATURE_FLAG": "off",
    "dev/DATABASE_URL": "postgres://dev",
  };
  const vault = await createSharedVault(keep, { organisation, owner, name: "Ledger", secrets });
  for (const [person, role] of [
    [member, "manager"],
    [operator, "reader"],
  ] as const) {
    const holder = { type: "person", id: await accountOf(keep, person) } as const;
    await shareVault(keep, { vault, owner, holder, role });
  }
  const body = { protected_paths: ["/prod/**", "/live/*"], environments: ["dev", "prod"] };
  await keep.request(owner, `/api/secrets/vaults/${vault}`, { method: "PATCH", body });
  return vault;
}

function writeFlag(reason: string, value: string): object {
  return { reason, operations: [{ op: "put", path: "/prod/FEATURE_FLAG", value }] };
}

const databaseMove = {
  reason: "Move to the new database cluster, OPS-314",
  operations: [
    {
      op: "put",
      path: "/prod/DATABASE_URL",
      value: "postgres://new-cluster",
      tags: ["db"],
      note: "Cluster B",
    },
    { op: "put", path: "/prod/POOL_SIZE", value: "20" },
    { op: "move", path: "/prod/api/STRIPE_KEY", to: "/prod/payments/STRIPE_SECRET_KEY" },
    { op: "delete", path: "/prod/LEGACY_KEY" },
  ],
};
