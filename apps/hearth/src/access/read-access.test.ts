import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Hidden } from "@hearth-and-keep/logging";
import { expect, test } from "vitest";
import { readAccess } from "./read-access.ts";

const loopback = {
  host: "127.0.0.1",
  machineName: "here",
  allowedHosts: [],
  allowedOrigins: [],
  apiKey: undefined,
  apiKeysFile: undefined,
  sharePromptCache: false,
  allowInsecureBind: false,
};

async function readKeysFile(mode: number): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "keys-"));
  try {
    const apiKeysFile = join(folder, "keys");
    await writeFile(apiKeysFile, "laptop:canary-1\n");
    await chmod(apiKeysFile, mode);
    const { keys } = await readAccess({ ...loopback, apiKeysFile });
    return keys.map(({ name }) => name);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("a keys file that other users can read or change is rejected", async () => {
  for (const mode of [0o644, 0o660, 0o602]) {
    await expect(readKeysFile(mode)).rejects.toThrow("other users of this machine can read or change it");
  }
  for (const mode of [0o640, 0o600, 0o400]) expect(await readKeysFile(mode)).toEqual(["laptop"]);
});

const open = { ...loopback, host: "0.0.0.0" };

test.each(["canary-key", "a".repeat(40), "1234567890"])(
  'the weak key "%s" is accepted only where no other machine can try it',
  async (key) => {
    const refused = readAccess({ ...open, apiKey: new Hidden(key) });
    await expect(refused).rejects.toThrow('for example from "openssl rand -hex 24"');
    await expect(refused).rejects.not.toThrow(key);
    for (const settings of [loopback, { ...open, allowInsecureBind: true }]) {
      expect((await readAccess({ ...settings, apiKey: new Hidden(key) })).keys).toHaveLength(1);
    }
  },
);

test("a random key protects a server that other machines can reach", async () => {
  expect((await readAccess({ ...open, apiKey: new Hidden("7f3a9b2e5d1c8046") })).keys).toHaveLength(1);
});
