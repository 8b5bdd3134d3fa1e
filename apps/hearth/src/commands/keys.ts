import { describeFlags } from "@hearth-and-keep/configuration";
import { renderTable, screen } from "@hearth-and-keep/terminal";
import type { Command } from "commander";
import { keysDatabaseSettings, readKeysConfig } from "../config.ts";
import type { KeyStore, KeyUsage, StoredKey } from "../key-store/key-store.ts";
import { appPaths } from "../server-client/app-paths.ts";
import { callFailure } from "../server-client/call-failure.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addKeyFlags, type KeyFlags, readKeyFlags } from "./key-flags.ts";
import { showLedger, type UsageFlags, wantsLedger } from "./key-usage.ts";

type Flags = KeyFlags & UsageFlags & { readonly keysDatabase?: string };

/** Works on the database itself, so that it needs no server and no admin key. */
export const define: DefineCommand = (keys) => {
  const add = (name: string, description: string): Command => {
    const command = keys.command(name).description(description).option("--json", "print JSON");
    for (const { flags, description: text } of describeFlags(keysDatabaseSettings))
      command.option(flags, text);
    return command;
  };
  addKeyFlags(
    add("create", "Create a key and print its secret once").argument("<name>", "name of the key"),
  ).action((name: string, flags: Flags) => withKeys(flags, (store) => create(store, name, flags)));
  add("list", "List keys").action((flags: Flags) => withKeys(flags, (store) => list(store, flags)));
  add("show", "Show a key and its limits")
    .argument("<name>", "name of the key")
    .action((name: string, flags: Flags) =>
      withKeys(flags, async (store) => showKey(await find(store, name), flags)),
    );
  addKeyFlags(
    add("update", "Change a key; running servers apply it within a second").argument(
      "<name>",
      "name of the key",
    ),
  ).action((name: string, flags: Flags) => withKeys(flags, (store) => update(store, name, flags)));
  add("rotate", "Replace the secret of a key; the old one stops working within a second")
    .argument("<name>", "name of the key")
    .action((name: string, flags: Flags) => withKeys(flags, (store) => rotate(store, name, flags)));
  add("revoke", "Revoke a key for good; its running requests end within a second")
    .argument("<name>", "name of the key")
    .action((name: string, flags: Flags) => withKeys(flags, (store) => revoke(store, name, flags)));
  add("usage", "Show what keys use now, today and this month, or what they used in a range of time")
    .argument("[name]", "name of the key; all if absent")
    .option(
      "--from <time>",
      "the first day of a range, as 2026-01-31, or a time; 30 days before its end if absent",
    )
    .option("--to <time>", "the last day of a range, or a time; now if absent")
    .option("--bucket <length>", "rows for each hour or day of a range")
    .option("--csv", "print a range as CSV")
    .action((name: string | undefined, flags: Flags) =>
      withKeys(flags, async (store) => {
        if (wantsLedger(flags)) return showLedger(store, name, flags);
        await showUsage(store, name === undefined ? await store.list() : [await find(store, name)], flags);
      }),
    );
};

async function withKeys(flags: Flags, work: (store: KeyStore) => Promise<void>): Promise<void> {
  const { keysDatabase } = readKeysConfig({ keysDatabase: flags.keysDatabase });
  const { openKeyStore } = await import("../key-store/open-key-store.ts");
  await using store = await openKeyStore({
    database: keysDatabase?.reveal(),
    defaultFile: appPaths().keys,
  });
  await work(store);
}

async function create(store: KeyStore, name: string, flags: Flags): Promise<void> {
  const { createKey } = await import("../key-store/create-key.ts");
  const isFirst = (await store.list()).length === 0;
  const created = createKey(readKeyFlags(flags, { name, role: "inference", priority: 0 }));
  if (!(await store.insert(created.key))) {
    throw usageError(`There is a key named "${name}" already; names of revoked keys cannot be used again`);
  }
  printSecret(created.secret, created.key, flags);
  if (isFirst && flags.json !== true) {
    screen.writeLine("This is the first key: restart running servers, so that they require keys.");
  }
}

async function rotate(store: KeyStore, name: string, flags: Flags): Promise<void> {
  const { rotateKey } = await import("../key-store/create-key.ts");
  const rotated = rotateKey(await find(store, name));
  await store.update(rotated.key);
  printSecret(rotated.secret, rotated.key, flags);
}

function printSecret(secret: string, key: StoredKey, flags: Flags): void {
  if (flags.json === true) return printJson({ ...describe(key), secret });
  screen.writeLine(secret);
  screen.writeLine(`Store it now: the secret of "${key.name}" cannot be shown again.`);
}

async function update(store: KeyStore, name: string, flags: Flags): Promise<void> {
  const key = await find(store, name);
  const updated = { ...key, ...readKeyFlags(flags, key) };
  await store.update(updated);
  showKey(updated, flags);
}

async function revoke(store: KeyStore, name: string, flags: Flags): Promise<void> {
  const key = await find(store, name);
  const revoked = { ...key, revokedAt: key.revokedAt ?? Date.now() };
  await store.update(revoked);
  if (flags.json === true) printJson(describe(revoked));
  else screen.writeLine(`Revoked ${name}`);
}

async function list(store: KeyStore, flags: Flags): Promise<void> {
  const keys = await store.list();
  if (flags.json === true) return printJson(keys.map(describe));
  if (keys.length === 0) return screen.writeLine('No keys yet. Create one with "hearth keys create NAME"');
  const rows = keys.map((key) => [
    key.name,
    key.role,
    statusOf(key),
    key.models?.join(",") ?? "all",
    String(key.priority),
  ]);
  printTable(["NAME", "ROLE", "STATUS", "MODELS", "PRIORITY"], rows);
}

async function showUsage(store: KeyStore, keys: readonly StoredKey[], flags: Flags): Promise<void> {
  const used = await Promise.all(keys.map(async (key) => ({ key, usage: await store.usage(key.id) })));
  if (flags.json === true) return printJson(used.map(({ key, usage }) => ({ name: key.name, ...usage })));
  const headers = ["NAME", "RUNNING", "REQUESTS/MIN", "TOKENS/MIN", "TODAY", "THIS MONTH"];
  printTable(
    headers,
    used.map(({ key, usage }) => [key.name, ...usageCells(key, usage)]),
  );
}

function usageCells(key: StoredKey, usage: KeyUsage): readonly string[] {
  return [
    formatUse(usage.running, key.concurrentRequests),
    formatUse(usage.requestsInWindow, key.requestsPerMinute),
    formatUse(usage.tokensInWindow, key.tokensPerMinute),
    formatUse(usage.tokensToday, key.tokensPerDay),
    formatUse(usage.tokensThisMonth, key.tokensPerMonth),
  ];
}

function formatUse(value: number, limit: number | undefined): string {
  return limit === undefined ? String(value) : `${value} of ${limit}`;
}

function printTable(headers: readonly string[], rows: readonly (readonly string[])[]): void {
  for (const line of renderTable(headers, rows, { screen, dropOrder: [] })) screen.writeLine(line);
}

function showKey(key: StoredKey, flags: Flags): void {
  if (flags.json === true) return printJson(describe(key));
  const rows = Object.entries(describe(key)).map(([field, value]) => [toWords(field), String(value)]);
  const width = Math.max(...rows.map(([label = ""]) => label.length));
  for (const [label = "", value = ""] of rows) screen.writeLine(`${label.padEnd(width)}  ${value}`);
}

/** "requestsPerMinute" is shown as "Requests per minute". */
function toWords(field: string): string {
  const words = field.replaceAll(/[A-Z]/gu, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Without the hash, which is of no use to a person. */
function describe({ sha256: _hash, createdAt, expiresAt, revokedAt, ...key }: StoredKey) {
  const fields = {
    ...key,
    status: statusOf({ expiresAt, revokedAt }),
    createdAt: formatDate(createdAt),
    expiresAt: expiresAt === undefined ? undefined : formatDate(expiresAt),
    revokedAt: revokedAt === undefined ? undefined : formatDate(revokedAt),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function formatDate(time: number): string {
  return new Date(time).toISOString();
}

function statusOf({ expiresAt, revokedAt }: Pick<StoredKey, "expiresAt" | "revokedAt">): string {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= Date.now() ? "expired" : "active";
}

async function find(store: KeyStore, name: string): Promise<StoredKey> {
  const key = (await store.list()).find((each) => each.name === name || each.id === name);
  if (key === undefined) throw usageError(`Key "${name}" not found`, 'run "hearth keys list"');
  return key;
}

function usageError(message: string, next?: string): Error {
  return callFailure({ kind: "usage-error", message, ...(next === undefined ? {} : { next }) });
}

function printJson(value: unknown): void {
  screen.writeLine(JSON.stringify(value, null, 2));
}
