import type { Page } from "playwright-core";
import type { ConsoleFixture, TestAccount } from "./console-fixture.ts";

/** People besides the first and the second one; the names are what Keep displays. */
export const memberAccount: TestAccount = { at: "general", account: "fourth@example.com" };
export const operatorAccount: TestAccount = { at: "general", account: "third@example.com" };

type Created = { readonly id: string };

export async function createOrganisation(keep: ConsoleFixture, owner: Page, name: string): Promise<string> {
  const options = { method: "POST", body: { name } };
  return (await keep.request<Created>(owner, "/api/organisations", options)).id;
}

export type Membership = {
  readonly organisation: string;
  /** The page of an owner. */
  readonly owner: Page;
  readonly person: Page;
  readonly role?: "owner" | "member" | "auditor";
};

/** Invites a person who is signed in, accepts on their page, and returns the id of their account. */
export async function addMember(
  keep: ConsoleFixture,
  { organisation, owner, person, role = "member" }: Membership,
): Promise<string> {
  const { code } = await keep.request<{ code: string }>(
    owner,
    `/api/organisations/${organisation}/invitations`,
    { method: "POST", body: { role } },
  );
  await keep.request(person, "/api/invitations/accept", { method: "POST", body: { code } });
  return accountOf(keep, person);
}

export async function accountOf(keep: ConsoleFixture, person: Page): Promise<string> {
  return (await keep.request<{ account: Created }>(person, "/api/session")).account.id;
}

export type TeamPlan = {
  readonly organisation: string;
  readonly owner: Page;
  readonly name: string;
  /** Ids of accounts. */
  readonly members?: readonly string[];
};

export async function createTeam(
  keep: ConsoleFixture,
  { organisation, owner, name, members = [] }: TeamPlan,
): Promise<string> {
  const path = `/api/organisations/${organisation}/teams`;
  const { id } = await keep.request<Created>(owner, path, { method: "POST", body: { name } });
  for (const person of members)
    await keep.request(owner, `${path}/${id}/members/${person}`, { method: "PUT" });
  return id;
}

export type SharedVaultPlan = {
  readonly organisation: string;
  /** Becomes a manager of the vault. */
  readonly owner: Page;
  readonly name: string;
  /** Values by path. */
  readonly secrets?: Readonly<Record<string, string>>;
};

export async function createSharedVault(
  keep: ConsoleFixture,
  { organisation, owner, name, secrets = {} }: SharedVaultPlan,
): Promise<string> {
  const path = `/api/organisations/${organisation}/vaults`;
  const { id } = await keep.request<Created>(owner, path, { method: "POST", body: { name } });
  for (const [secret, value] of Object.entries(secrets)) {
    const at = `/api/secrets/vaults/${id}/secrets/by-path/${secret}`;
    await keep.request(owner, at, { method: "PUT", body: { value } });
  }
  return id;
}

export type GrantPlan = {
  readonly vault: string;
  readonly owner: Page;
  readonly holder: { readonly type: "person" | "team"; readonly id: string };
  readonly role: "reader" | "editor" | "manager";
  readonly paths?: readonly string[];
};

export async function shareVault(
  keep: ConsoleFixture,
  { vault, owner, ...body }: GrantPlan,
): Promise<string> {
  const path = `/api/secrets/vaults/${vault}/grants`;
  return (await keep.request<Created>(owner, path, { method: "POST", body })).id;
}

/** Enters the code that Keep printed when it started; works for one person. */
export async function becomeOperator(keep: ConsoleFixture, page: Page): Promise<void> {
  const code = /enter the code (?<code>[0-9A-Z-]+) at/u.exec(keep.log())?.groups?.["code"] ?? "";
  await page.goto(`${keep.url}/operator`);
  await page.getByLabel("Code").fill(code);
  await page.getByRole("button", { name: "Become the operator" }).click();
  await page.getByRole("heading", { name: "You are an operator" }).waitFor();
}
