import { recordFigure } from "@hearth-and-keep/figures";
import { KeyboardWalk } from "@hearth-and-keep/test-servers";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleFixture, secondAccount, startConsoleFixture } from "./console-fixture.ts";
import { chooseMenuItem } from "./every-screen/screen-fixture.ts";
import {
  addMember,
  createOrganisation,
  createSharedVault,
  memberAccount,
  shareVault,
} from "./team-fixture.ts";

let keep: ConsoleFixture;
let owner: Page;
let member: Page;
let reader: Page;
let acme: string;
let people: { readonly member: string; readonly reader: string };
const flows: string[] = [];

beforeAll(async () => {
  keep = await startConsoleFixture();
  owner = await keep.signIn();
  member = await keep.signIn(memberAccount);
  reader = await keep.signIn(secondAccount);
  for (const page of [owner, member, reader]) page.setDefaultTimeout(60_000);
  acme = await createOrganisation(keep, owner, "Acme");
  people = {
    member: await addMember(keep, { organisation: acme, owner, person: member }),
    reader: await addMember(keep, { organisation: acme, owner, person: reader }),
  };
});

afterAll(async () => {
  await keep?.[Symbol.asyncDispose]();
  if (flows.length > 0)
    recordFigure({
      claim: "teams 9",
      text: `approvals, three people: ${flows.join(", ")}`,
      counted: { reached: flows.length, needed: 19 },
    });
});

const secrets = { "prod/KEY": "first", "prod/api/OLD": "old", "dev/KEY": "dev" };

/** A vault with `/prod/**` protected, in which the member is a manager. */
async function createProtected(name: string): Promise<string> {
  const vault = await createSharedVault(keep, { organisation: acme, owner, name, secrets });
  for (const [person, role] of [
    [people.member, "manager"],
    [people.reader, "reader"],
  ] as const)
    await shareVault(keep, { vault, owner, holder: { type: "person", id: person }, role });
  const body = { protected_paths: ["/prod/**"] };
  await keep.request(owner, `/api/secrets/vaults/${vault}`, { method: "PATCH", body });
  return vault;
}

async function propose(vault: string, change: object, page = owner): Promise<string> {
  const path = `/api/secrets/vaults/${vault}/changes`;
  const body = { reason: "Rotate it, OPS-314", ...change };
  return (await keep.request<{ id: string }>(page, path, { method: "POST", body })).id;
}

const put = (value: string) => ({ operations: [{ op: "put", path: "/prod/KEY", value }] });

async function openChange(page: Page, vault: string, change: string): Promise<Locator> {
  await page.goto(`${keep.url}/secrets/${vault}/changes?change=${change}`);
  const panel = page.getByRole("dialog", { name: "Proposed change" });
  await panel.getByText("Rotate it, OPS-314").waitFor();
  return panel;
}

async function readValue(vault: string, path = "prod/KEY"): Promise<string | undefined> {
  const url = `/api/secrets/vaults/${vault}/values/by-path/${path}`;
  return keep.request<{ value: string }>(owner, url).then(
    ({ value }) => value,
    () => undefined,
  );
}

async function openSecret(page: Page, vault: string): Promise<void> {
  await page.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await page.getByRole("link", { name: "KEY", exact: true }).click();
}

/** Gives the reason in the form that has opened, and opens the proposed change. */
async function submitProposal(page: Page, reason = "Rotate it, OPS-314"): Promise<Locator> {
  const form = page.getByRole("form", { name: "Propose change" });
  await form.getByLabel("Reason").fill(reason);
  await form.getByRole("button", { name: "Propose change" }).click();
  await page.getByText("Change proposed.").waitFor();
  await page.getByRole("link", { name: "View change" }).click();
  const panel = page.getByRole("dialog", { name: "Proposed change" });
  await panel.getByText(reason).waitFor();
  return panel;
}

async function approve(panel: Locator): Promise<void> {
  await panel.getByRole("button", { name: "Approve" }).click();
  await panel.page().getByText("Change approved").first().waitFor();
}

const operations = (panel: Locator) =>
  panel.getByRole("list", { name: "What it does" }).getByRole("listitem");

test("a protected secret is edited, another person reviews the value and approves, and then it is current", async () => {
  const vault = await createProtected("Rotation");
  await openSecret(owner, vault);
  await owner.getByRole("button", { name: "Edit" }).click();
  await owner.getByRole("textbox", { name: "Value" }).fill("second-value");
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Write a new value of /prod/KEY").waitFor();
  await owner.getByRole("button", { name: "Propose change" }).click();
  await owner.getByText("Enter a reason").waitFor();
  await owner.getByRole("button", { name: "Back" }).click();
  expect(await owner.getByRole("textbox", { name: "Value" }).inputValue()).toBe("second-value");
  await owner.getByRole("button", { name: "Save" }).click();
  const own = await submitProposal(owner);
  flows.push("propose a value");
  await own.getByText("You proposed this change, so another person must approve it").waitFor();
  expect(await own.getByRole("button", { name: /Approve|Reject/u }).count()).toBe(0);
  expect(await readValue(vault)).toBe("first");
  flows.push("no approval of one's own");
  await member.goto(`${keep.url}/secrets/${vault}`);
  await member.getByRole("link", { name: "Changes 1 pending" }).click();
  await member.getByText("1 operation, proposed by first@example.com").waitFor();
  await member.getByRole("link", { name: "Rotate it, OPS-314" }).click();
  const panel = member.getByRole("dialog", { name: "Proposed change" });
  await expect.poll(() => operations(panel).allTextContents()).toEqual(["New value/prod/KEYText, 12 bytes"]);
  expect(await panel.textContent()).not.toContain("second-value");
  await panel.getByRole("button", { name: "Reveal values" }).click();
  await panel.getByText("second-value").waitFor();
  await panel.getByRole("button", { name: "Hide" }).click();
  await panel.getByText("second-value").waitFor({ state: "detached" });
  flows.push("review values");
  await approve(panel);
  await panel.getByText("Approved", { exact: true }).waitFor();
  expect(await readValue(vault)).toBe("second-value");
  await member.keyboard.press("Escape");
  await member.getByRole("heading", { name: "No pending changes" }).waitFor();
  await member.getByRole("link", { name: "Decided" }).click();
  await member.getByText(/Approvedby you/u).waitFor();
  flows.push("approve");
});

test("the proposer's own approval with a token in between is refused in words, and another person's is accepted", async () => {
  const vault = await createProtected("By token");
  const { value } = await keep.request<{ value: string }>(owner, `/api/organisations/${acme}/tokens`, {
    method: "POST",
    body: { name: "ci", scopes: ["secrets:write"], for: "organisation", vault_ids: [vault] },
  });
  const response = await fetch(`${keep.url}/api/secrets/vaults/${vault}/changes`, {
    method: "POST",
    headers: { authorization: `Bearer ${value}`, "content-type": "application/json" },
    body: JSON.stringify({ reason: "Rotate it, OPS-314", ...put("by-token") }),
  });
  // The response of this path.
  const { id } = (await response.json()) as { readonly id: string };
  const own = await openChange(owner, vault, id);
  await own.getByRole("button", { name: "Approve" }).click();
  await own.getByText("or you have had the token that proposed it").waitFor();
  await own.getByText("Ask another person").waitFor();
  expect(await readValue(vault)).toBe("first");
  await approve(await openChange(member, vault, id));
  expect(await readValue(vault)).toBe("by-token");
  flows.push("a proposal of one's token is refused in words");
});

test("a rejected change and a withdrawn one take no effect, and are listed as decided", async () => {
  const vault = await createProtected("Refused");
  const rejected = await openChange(member, vault, await propose(vault, put("a")));
  await rejected.getByRole("button", { name: "Reject" }).click();
  await rejected.getByText("Rejected", { exact: true }).waitFor();
  expect(await rejected.getByRole("button", { name: /Approve|Reject|Withdraw/u }).count()).toBe(0);
  flows.push("reject");
  const withdrawn = await openChange(owner, vault, await propose(vault, put("b")));
  await withdrawn.getByRole("button", { name: "Withdraw" }).click();
  await withdrawn.getByText("Withdrawn", { exact: true }).waitFor();
  await owner.goto(`${keep.url}/secrets/${vault}/changes?state=decided`);
  const rows = owner.getByRole("list", { name: "Decided changes" }).getByRole("listitem");
  await expect
    .poll(async () => (await rows.allTextContents()).map((text) => /Rejected|Withdrawn/u.exec(text)?.[0]))
    .toEqual(["Withdrawn", "Rejected"]);
  expect(await readValue(vault)).toBe("first");
  flows.push("withdraw");
});

test("an approval after the secret was changed is refused with what to do, and so is one of an expired change", async () => {
  const vault = await createProtected("Conflict");
  const change = await propose(vault, put("one"));
  const panel = await openChange(member, vault, change);
  await panel.getByRole("button", { name: "Approve" }).waitFor();
  await approve(await openChange(owner, vault, await propose(vault, put("two"), member)));
  await panel.getByRole("button", { name: "Approve" }).click();
  await panel.getByText("/prod/KEY was changed after this change was proposed").waitFor();
  await panel.getByText("propose it again").waitFor();
  expect(await readValue(vault)).toBe("two");
  flows.push("a conflict is explained");
  const reason = "The change has expired; propose it again";
  await member.route("**/approve", (route) =>
    route.fulfill({
      status: 409,
      contentType: "application/problem+json",
      body: JSON.stringify({
        type: "urn:x",
        title: "Conflict",
        status: 409,
        detail: reason,
        code: "conflict",
      }),
    }),
  );
  await panel.getByRole("button", { name: "Approve" }).click();
  await panel.getByText(reason).waitFor();
  await member.unroute("**/approve");
  flows.push("an expired change is explained");
});

test("a reader sees what a change does, and can neither approve, reject nor withdraw it", async () => {
  const vault = await createProtected("Readers");
  const change = await propose(vault, put("seen"));
  const panel = await openChange(reader, vault, change);
  await panel.getByText("Only people who may make this change themselves").waitFor();
  expect(await panel.getByRole("button", { name: /Approve|Reject|Withdraw/u }).count()).toBe(0);
  await panel.getByRole("button", { name: "Reveal values" }).click();
  await panel.getByText("seen", { exact: true }).waitFor();
  const editor = await openChange(member, vault, change);
  await editor.getByRole("button", { name: "Approve" }).waitFor();
  flows.push("a reader decides nothing");
});

test("approving after a long lunch asks to sign in again, and returns to the change", async () => {
  const vault = await createProtected("After lunch");
  const change = await propose(vault, put("fresh"));
  const panel = await openChange(member, vault, change);
  keep.setSignInTime("now() - interval '1 hour'");
  try {
    await panel.getByRole("button", { name: "Approve" }).click();
    await panel.getByText("Sign in again to approve changes").waitFor();
    expect(await panel.getByRole("button", { name: "Approve" }).isDisabled()).toBe(true);
    await panel.getByRole("button", { name: "Sign in again with Example" }).click();
    await member.getByLabel("Account").fill("fourth@example.com");
    await member.getByRole("button", { name: "Sign in" }).click();
    await approve(member.getByRole("dialog", { name: "Proposed change" }));
  } finally {
    keep.setSignInTime("now()");
  }
  expect(await readValue(vault)).toBe("fresh");
  flows.push("sign in again to approve");
});

test("a new secret, a move, a deletion and the deletion of a folder are proposed where they are refused", async () => {
  const vault = await createProtected("Others");
  await owner.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await owner.getByRole("button", { name: "New secret" }).click();
  await owner.getByRole("textbox", { name: "Name", exact: true }).fill("ADDED");
  await owner.getByRole("textbox", { name: "Value" }).fill("added");
  await owner.getByRole("button", { name: "Save" }).click();
  await approveAs(await submitProposal(owner), "New secret/prod/ADDEDText, 5 bytes");
  expect(await readValue(vault, "prod/ADDED")).toBe("added");
  flows.push("propose a new secret");
  await owner.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await chooseMenuItem(owner, "More actions for ADDED", "Move or rename…");
  await owner.getByLabel("Path").fill("/prod/MOVED");
  await owner.getByRole("button", { name: "Move", exact: true }).click();
  await approveAs(await submitProposal(owner), "Move/prod/ADDEDto /prod/MOVED");
  expect([await readValue(vault, "prod/ADDED"), await readValue(vault, "prod/MOVED")]).toEqual([
    undefined,
    "added",
  ]);
  flows.push("propose a move");
  await owner.goto(`${keep.url}/secrets/${vault}?folder=/prod`);
  await chooseMenuItem(owner, "More actions for MOVED", "Delete…");
  await owner.getByRole("button", { name: "Delete", exact: true }).click();
  await approveAs(await submitProposal(owner), "Delete/prod/MOVED");
  expect(await readValue(vault, "prod/MOVED")).toBeUndefined();
  flows.push("propose a deletion");
  await owner.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(owner, "More actions for prod", "Delete…");
  await owner.getByRole("button", { name: "Delete folder", exact: true }).click();
  await approveAs(await submitProposal(owner), "Delete/prod/KEY", "Delete/prod/api/OLD");
  expect(await readValue(vault)).toBeUndefined();
  expect(await readValue(vault, "dev/KEY")).toBe("dev");
  flows.push("propose to delete a folder");
});

/** The member opens the change that the owner sees, compares what it does and approves. */
async function approveAs(panel: Locator, ...expected: readonly string[]): Promise<void> {
  await expect.poll(async () => (await operations(panel).allTextContents()).toSorted()).toEqual(expected);
  await member.goto(panel.page().url());
  await approve(member.getByRole("dialog", { name: "Proposed change" }));
}

test("a pattern is added at once, and removed only after an approval", async () => {
  const vault = await createProtected("Settings");
  const paths = async () =>
    (await keep.request<{ protected_paths: string[] }>(owner, `/api/secrets/vaults/${vault}`))
      .protected_paths;
  const openSettings = async (): Promise<Locator> => {
    await owner.goto(`${keep.url}/secrets/${vault}`);
    await chooseMenuItem(owner, "Vault Settings", "Vault settings…");
    return owner.getByRole("dialog", { name: "Vault settings" });
  };
  const dialog = await openSettings();
  expect(await dialog.getByLabel("Protected paths", { exact: true }).inputValue()).toBe("/prod/**");
  await dialog.getByLabel("Protected paths", { exact: true }).fill("prod");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText('"prod" must start with /').waitFor();
  await dialog.getByLabel("Protected paths", { exact: true }).fill("/prod/**\n/live/*");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  expect(await paths()).toEqual(["/prod/**", "/live/*"]);
  flows.push("protect a path");
  await openSettings();
  await dialog.getByLabel("Protected paths", { exact: true }).fill("/live/*");
  await dialog.getByLabel("Name", { exact: true }).fill("Renamed");
  await dialog.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Save them separately").waitFor();
  const panel = await submitProposal(owner);
  expect(await paths()).toEqual(["/prod/**", "/live/*"]);
  await panel.getByText("Stop protecting /prod/**").waitFor();
  await member.goto(owner.url());
  await approve(member.getByRole("dialog", { name: "Proposed change" }));
  expect(await paths()).toEqual(["/live/*"]);
  flows.push("propose a setting");
});

test("a vault with protected paths is deleted only after an approval", async () => {
  const vault = await createProtected("Leaving");
  await owner.goto(`${keep.url}/secrets/${vault}`);
  await chooseMenuItem(owner, "Vault Leaving", "Vault settings…");
  await owner.getByRole("button", { name: "Delete vault…" }).click();
  await owner.getByRole("button", { name: "Delete vault", exact: true }).click();
  const panel = await submitProposal(owner);
  await panel.getByText("Delete the vault with all its secrets").waitFor();
  expect(await readValue(vault)).toBe("first");
  await member.goto(owner.url());
  await approve(member.getByRole("dialog", { name: "Proposed change" }));
  await expect.poll(() => readValue(vault)).toBeUndefined();
  flows.push("propose to delete a vault");
});

test("by keyboard alone, a change is proposed, and another one approved", async () => {
  const vault = await createProtected("Keyboard");
  await propose(vault, put("by-keyboard"), owner);
  const keys = new KeyboardWalk(member, { origin: keep.url });
  await member.goto(`${keep.url}/secrets/${vault}`);
  await keys.press(member.getByRole("link", { name: "Changes 1 pending" }));
  await keys.press(member.getByRole("link", { name: "Rotate it, OPS-314" }));
  const panel = member.getByRole("dialog", { name: "Proposed change" });
  await keys.press(panel.getByRole("button", { name: "Reveal values" }));
  await panel.getByText("by-keyboard").waitFor();
  await keys.press(panel.getByRole("button", { name: "Approve" }));
  await member.getByText("Change approved").first().waitFor();
  await member.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await keys.press(member.getByRole("link", { name: "All secrets" }));
  await keys.tabTo(member.getByRole("link", { name: "dev", exact: true }));
  await member.keyboard.press("ArrowDown");
  await keys.press(member.getByRole("link", { name: "prod", exact: true }));
  await keys.tabTo(member.getByRole("link", { name: "api", exact: true }));
  await member.keyboard.press("ArrowDown");
  await keys.press(member.getByRole("link", { name: "KEY", exact: true }));
  await keys.press(member.getByRole("button", { name: "Edit" }));
  await keys.tabTo(member.getByRole("textbox", { name: "Value" }));
  await member.keyboard.press("Control+A");
  await member.keyboard.type("again");
  await keys.press(member.getByRole("button", { name: "Save" }));
  const form = member.getByRole("form", { name: "Propose change" });
  await keys.tabTo(form.getByLabel("Reason"));
  await member.keyboard.type("Once more");
  await member.keyboard.press("Enter");
  await member.getByText("Change proposed.").waitFor();
  await keys.press(member.getByRole("link", { name: "View change" }));
  await panel.getByText("Once more").waitFor();
  expect(await readValue(vault)).toBe("by-keyboard");
  flows.push(`by keyboard alone, with a visible focus at ${keys.stops} stops`);
});
