import type { BrowserContextOptions, Page } from "playwright-core";
import type { ConsoleFixture } from "../console-fixture.ts";
import {
  accountOf,
  addMember,
  becomeOperator,
  createOrganisation,
  createSharedVault,
  createTeam,
  memberAccount,
  operatorAccount,
  shareVault,
} from "../team-fixture.ts";
import { createWorkload } from "../workload-fixture.ts";
import { type ApprovalScene, prepareApprovalScene } from "./approval-scene.ts";

/** An organisation with members, teams and vaults, and what its people see. */
export type TeamScene = {
  readonly member: Page;
  readonly operator: Page;
  readonly organisation: string;
  readonly team: string;
  /** Of the organisation, shared with a team and with a member for some paths. */
  readonly vault: string;
  /** Of the owner, with environments. */
  readonly environments: string;
  readonly memberId: string;
  readonly approvals: ApprovalScene;
};

export async function prepareTeamScene(
  keep: ConsoleFixture,
  owner: Page,
  contextOptions: BrowserContextOptions,
): Promise<TeamScene> {
  const member = await keep.signIn(memberAccount, contextOptions);
  const operator = await keep.signIn(operatorAccount, contextOptions);
  await becomeOperator(keep, operator);
  const organisation = await createOrganisation(keep, owner, "Acme");
  const memberId = await addMember(keep, { organisation, owner, person: member });
  await addMember(keep, { organisation, owner, person: operator, role: "auditor" });
  for (const [role, identity] of [
    ["member", "code-hosting:12345"],
    ["owner", undefined],
  ] as const) {
    await keep.request(owner, `/api/organisations/${organisation}/invitations`, {
      method: "POST",
      body: { role, ...(identity === undefined ? {} : { identity }) },
    });
  }
  const team = await createTeam(keep, { organisation, owner, name: "Backend", members: [memberId] });
  await createTeam(keep, { organisation, owner, name: "On call" });
  await createFilledTeam(keep, owner, { organisation, auditor: await accountOf(keep, operator) });
  const secrets = { "prod/DATABASE_URL": "postgres://db", "prod/api/STRIPE_KEY": "x", "dev/KEY": "y" };
  const vault = await createSharedVault(keep, { organisation, owner, name: "Payments", secrets });
  await createSharedVault(keep, { organisation, owner, name: "Website" });
  await shareVault(keep, { vault, owner, holder: { type: "team", id: team }, role: "reader" });
  await shareVault(keep, {
    vault,
    owner,
    holder: { type: "person", id: memberId },
    role: "editor",
    paths: ["/dev/**", "/staging/api/**"],
  });
  await keep.request(member, `/api/secrets/vaults/${vault}/values/by-path/prod/DATABASE_URL`);
  await createOrganisationTokens(keep, owner, { organisation, vault });
  await createTrustRules(keep, owner, { rules: "/api/secrets/trust-rules", vaults: null });
  await createTrustRules(keep, owner, {
    rules: `/api/organisations/${organisation}/trust-rules`,
    vaults: [vault],
  });
  const environments = await createEnvironments(keep, owner);
  const approvals = await prepareApprovalScene(keep, { owner, member, operator }, organisation);
  return { member, operator, organisation, team, vault, environments, memberId, approvals };
}

type FilledTeamPlan = Pick<TeamScene, "organisation"> & { readonly auditor: string };

/** A team with a group, in which an owner has put the auditor, and a sign-in the member. */
async function createFilledTeam(
  keep: ConsoleFixture,
  owner: Page,
  { organisation, auditor }: FilledTeamPlan,
): Promise<void> {
  const name = "Engineers";
  const team = await createTeam(keep, { organisation, owner, name, members: [auditor] });
  const path = `/api/organisations/${organisation}/teams/${team}`;
  await keep.request(owner, path, { method: "PATCH", body: { external_group: "engineers" } });
  await (await keep.signIn(memberAccount)).context().close();
}

async function createOrganisationTokens(
  keep: ConsoleFixture,
  owner: Page,
  { organisation, vault }: Pick<TeamScene, "organisation" | "vault">,
): Promise<void> {
  for (const [name, holder] of [
    ["deployment", "organisation"],
    ["my laptop", "me"],
  ]) {
    const body = { name, scopes: ["secrets:read"], for: holder, vault_ids: [vault] };
    await keep.request(owner, `/api/organisations/${organisation}/tokens`, { method: "POST", body });
  }
}

type RuleOwner = { readonly rules: string; readonly vaults: readonly string[] | null };

/** One rule for a GitHub job, and one for a pod, with a token that it matches and one that it does not. */
async function createTrustRules(
  keep: ConsoleFixture,
  owner: Page,
  { rules, vaults }: RuleOwner,
): Promise<void> {
  const create = (body: object) =>
    keep.request(owner, rules, { method: "POST", body: { vault_ids: vaults, ...body } });
  await create({
    name: "Deploy production",
    provider: "github",
    issuer: "https://token.actions.githubusercontent.com",
    conditions: [
      { claim: "repository_id", values: ["74"] },
      { claim: "repository_owner_id", values: ["65"] },
      { claim: "environment", values: ["production", "staging"] },
    ],
    scopes: ["secrets:read"],
    paths: ["/prod/**"],
  });
  const workload = createWorkload(keep);
  await create({
    name: "Billing in the cluster",
    provider: "kubernetes",
    issuer: workload.issuer,
    jwks: workload.jwks,
    conditions: [{ claim: "sub", values: ["system:serviceaccount:billing:worker"] }],
    scopes: ["secrets:read", "secrets:write"],
    lifetime_seconds: 300,
  });
  const { audience } = await keep.request<{ audience: string }>(owner, rules);
  for (const name of ["reporting", "worker"])
    await workload.present(workload.sign(`system:serviceaccount:billing:${name}`, audience));
}

/** Some names are set everywhere, some inherited, some missing. */
async function createEnvironments(keep: ConsoleFixture, owner: Page): Promise<string> {
  const { id } = await keep.request<{ id: string }>(owner, "/api/secrets/vaults", {
    method: "POST",
    body: { name: "Checkout" },
  });
  const values: Readonly<Record<string, string>> = {
    "base/REGION": "eu-1",
    "base/api/TIMEOUT": "30",
    "dev/DATABASE_URL": "dev",
    "staging/DATABASE_URL": "staging",
    "prod/DATABASE_URL": "prod",
    "staging/api/STRIPE_KEY": "new",
    "dev/api/STRIPE_KEY": "new",
    "prod/api/TIMEOUT": "60",
    "staging/FEATURE_FLAG": "on",
    "staging/LOG_LEVEL": "info",
    "prod/LOG_LEVEL": "info",
  };
  for (const [path, value] of Object.entries(values))
    await keep.request(owner, `/api/secrets/vaults/${id}/secrets/by-path/${path}`, {
      method: "PUT",
      body: { value },
    });
  await keep.request(owner, `/api/secrets/vaults/${id}`, {
    method: "PATCH",
    body: { environments: ["dev", "staging", "prod"], base: "/base" },
  });
  return id;
}
