import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { expect, test } from "vitest";
import { openCredentialStore } from "./credentials.ts";
import type { Keyring } from "./keyring.ts";

const login = {
  server: "https://keep.example",
  account: { id: "0198c0de-7c1a-7f00-8000-5a1e5a1e5a1e", name: "Ada", kind: "person" },
  person: "Ada",
  expires_at: "2026-12-01T00:00:00.000Z",
} as const;
const token = "sk-svc-token";

function memoryKeyring(entries = new Map<string, string>()): Keyring {
  return {
    get: async (name) => entries.get(name),
    set: async (name, secret) => void entries.set(name, secret),
    delete: async (name) => void entries.delete(name),
  };
}

const lockedKeyring: Keyring = {
  get: () => Promise.reject(new Error("locked")),
  set: () => Promise.reject(new Error("locked")),
  delete: () => Promise.reject(new Error("locked")),
};

test("with a keyring, the file has no token", async () => {
  await using folder = await makeTemporaryFolder("keep-logins");
  const entries = new Map<string, string>();
  const store = openCredentialStore({ folder: folder.path, openKeyring: async () => memoryKeyring(entries) });
  expect(await store.save(login, token)).toBe("keyring");
  expect(await readFile(join(folder.path, "logins.json"), "utf8")).not.toContain(token);
  expect(await store.readToken(login)).toBe(token);
  expect(await store.list()).toEqual([login]);
  await store.remove(login);
  expect([entries.size, await store.list()]).toEqual([0, []]);
});

test.each([
  ["no keyring", undefined],
  ["a keyring that was not installed", async () => undefined],
  ["a locked keyring", async () => lockedKeyring],
])("with %s, the token is in the file", async (_name, openKeyring) => {
  await using folder = await makeTemporaryFolder("keep-logins");
  const store = openCredentialStore({ folder: folder.path, openKeyring });
  expect(await store.save(login, token)).toBe("file");
  expect(await store.readToken(login)).toBe(token);
  await store.remove(login);
  expect(await store.list()).toEqual([]);
});

test("a keyring that was locked since says so", async () => {
  await using folder = await makeTemporaryFolder("keep-logins");
  const open = openCredentialStore({ folder: folder.path, openKeyring: async () => memoryKeyring() });
  await open.save(login, token);
  const locked = openCredentialStore({ folder: folder.path, openKeyring: async () => lockedKeyring });
  await expect(locked.readToken(login)).rejects.toThrow("keyring-unusable");
});

test("a login replaces only that of the same server and account", async () => {
  await using folder = await makeTemporaryFolder("keep-logins");
  const store = openCredentialStore({ folder: folder.path, openKeyring: undefined });
  const other = { ...login, server: "https://other.example" };
  await store.save(login, "one");
  await store.save(other, "two");
  await store.save(login, "three");
  expect(await store.list()).toEqual([login, other]);
  expect([await store.readToken(login), await store.readToken(other)]).toEqual(["three", "two"]);
});
