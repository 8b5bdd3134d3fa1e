import { readFile } from "node:fs/promises";
import { recordFigure } from "@hearth-and-keep/figures";
import { Hidden } from "@hearth-and-keep/logging";
import {
  Encrypter,
  generateHybridIdentity,
  generateX25519Identity,
  identityToRecipient,
} from "age-encryption";
import { beforeAll, expect, test } from "vitest";
import { generateKeyText, readKeys } from "../key-encryption-key.ts";
import { openFile, readIdentities } from "./age-file.ts";
import { type KeyShare, readShare } from "./key-shares.ts";
import { recoverKeys } from "./recover-keys.ts";
import { sealKeys } from "./seal-keys.ts";

const keys = [generateKeyText(), generateKeyText()];
const text = new Hidden(keys.join(","));
const { fingerprints } = readKeys(text);
const identities: string[] = [];
const recipients: string[] = [];
const readFixture = (name: string) => readFile(new URL(`fixtures/${name}`, import.meta.url), "utf8");
const plan = { shares: 3, threshold: 2 };

beforeAll(async () => {
  for (let person = 0; person < 3; person += 1) {
    const identity = await generateHybridIdentity();
    identities.push(identity);
    recipients.push(await identityToRecipient(identity));
  }
});

const asFiles = (contents: readonly string[]) =>
  contents.map((content, index) => ({ name: `file ${index + 1}`, content: Buffer.from(content) }));

const recover = async (contents: readonly string[], known: readonly string[] = identities) =>
  (await recoverKeys(asFiles(contents), known)).reveal();

/** The shares of each file. */
async function openShares(contents: readonly string[]): Promise<readonly KeyShare[]> {
  const opened = await Promise.all(contents.map((content) => openFile(Buffer.from(content), identities)));
  return opened.map((bytes) => {
    const share = readShare(Buffer.from(bytes ?? []).toString("utf8"));
    if (share === undefined) throw new Error("It is no share");
    return share;
  });
}

/** Shares as somebody writes them who knows the recipients, which are public. */
async function reseal(shares: readonly KeyShare[]): Promise<readonly string[]> {
  const sealed = shares.map(async (share) => {
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipients[0] ?? "");
    const bytes = await encrypter.encrypt(JSON.stringify(share));
    return `-----BEGIN AGE ENCRYPTED FILE-----\n${Buffer.from(bytes).toString("base64").replaceAll(/.{64}/gu, "$&\n").trim()}\n-----END AGE ENCRYPTED FILE-----\n`;
  });
  return Promise.all(sealed);
}

test("a whole file is opened by each of its recipients, and by nobody else", async () => {
  const [file = ""] = await sealKeys(text, fingerprints, {
    recipients: recipients.slice(0, 2),
    plan: undefined,
  });
  for (const identity of identities.slice(0, 2))
    expect(await recover([file], [identity])).toBe(text.reveal());
  await expect(recover([file], identities.slice(2))).rejects.toThrow('"file 1" cannot be opened');
  await expect(recover([file], [])).rejects.toThrow("no hybrid identity is given");
  const cut = file.replace(/\n[^\n]+\n-----END/u, "\n-----END");
  await expect(recover([cut])).rejects.toThrow('"file 1" cannot be opened');
});

test("any 2 of 3 shares suffice, in any order, and 1 does not", async () => {
  const files = await sealKeys(text, fingerprints, { recipients, plan });
  const combinations = [
    [0, 1],
    [1, 0],
    [0, 2],
    [1, 2],
    [0, 1, 2],
  ];
  for (const chosen of combinations)
    expect(await recover(chosen.map((index) => files[index] ?? ""))).toBe(text.reveal());
  for (const [index, file] of files.entries()) {
    await expect(recover([file])).rejects.toThrow("1 of 3 shares was given, but 2 are needed");
    await expect(recover([file, file])).rejects.toThrow("1 of 3 shares was given, but 2 are needed");
    // Each is for one person, and no other identity opens it.
    const others = identities.filter((_identity, person) => person !== index);
    await expect(recover([file], others)).rejects.toThrow("cannot be opened");
  }
  recordFigure({
    claim: "client 9",
    text: `${combinations.length} of ${combinations.length} sets of 2 or 3 shares recovered the keys, and 0 of ${files.length} single ones`,
  });
});

test("a threshold that was lowered, other sets and changed shares recover nothing", async () => {
  const three = { shares: 4, threshold: 3 };
  const [first, second, third] = await openShares(
    await sealKeys(text, fingerprints, { recipients: recipients.slice(0, 1), plan: three }),
  );
  const [foreign] = await openShares(
    await sealKeys(text, fingerprints, { recipients: recipients.slice(0, 1), plan: three }),
  );
  if (!first || !second || !third || !foreign) throw new Error("Shares are missing");
  expect(await recover(await reseal([first, second, third]))).toBe(text.reveal());
  const lowered = [first, second].map((share) => ({ ...share, threshold: 2 }));
  await expect(recover(await reseal(lowered))).rejects.toThrow(/another key than was sealed/u);
  await expect(recover(await reseal([first, second, foreign]))).rejects.toThrow("of different sets");
  const smuggled = { ...foreign, set: first.set };
  await expect(recover(await reseal([first, second, smuggled]))).rejects.toThrow(
    /another key than|do not belong/u,
  );
  const bytes = Buffer.from(third.bytes, "base64");
  bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0);
  const changed = { ...third, bytes: bytes.toString("base64") };
  await expect(recover(await reseal([first, second, changed]))).rejects.toThrow(
    /another key than was sealed/u,
  );
  const renamed = [first, second, third].map((share) => ({ ...share, fingerprints: ["0".repeat(16)] }));
  await expect(recover(await reseal(renamed))).rejects.toThrow(/another key than was sealed/u);
});

test("recipients that are classical, mistyped or too few, and impossible thresholds are refused", async () => {
  const classical = await identityToRecipient(await generateX25519Identity());
  const [recipient = ""] = recipients;
  const mistyped = `${recipient.slice(0, -1)}${recipient.endsWith("q") ? "p" : "q"}`;
  const seal = (to: readonly string[], chosen: typeof plan | undefined) =>
    sealKeys(text, fingerprints, { recipients: to, plan: chosen });
  await expect(seal([classical], undefined)).rejects.toThrow("is not a hybrid recipient");
  await expect(seal([recipient, classical], undefined)).rejects.toThrow("is not a hybrid recipient");
  await expect(seal([mistyped], undefined)).rejects.toThrow("has a typing error");
  await expect(seal(recipients.slice(0, 2), plan)).rejects.toThrow(
    "3 shares need one recipient, or 3; there are 2",
  );
  await expect(seal([], undefined)).rejects.toThrow("no recipient is named");
  for (const [shares, threshold] of [
    [3, 1],
    [3, 4],
    [17, 2],
    [1, 1],
    [Number.NaN, 2],
  ] as const)
    await expect(seal([recipient], { shares, threshold })).rejects.toThrow("there can be 2 to 16 shares");
  expect(await seal([recipient], { shares: 16, threshold: 16 })).toHaveLength(16);
});

test("a file that the age program sealed is opened", async () => {
  const known = readIdentities(await readFixture("identity.txt"));
  expect(await recover([await readFixture("key.age")], known)).toBe(
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
  );
});
