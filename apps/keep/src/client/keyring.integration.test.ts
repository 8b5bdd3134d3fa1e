import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { childEnvironment, makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addTeammate, type Teammate } from "../organisations/test/start-team.ts";
import { startUnlimitedKeep } from "../test/open-vault.ts";
import type { TestKeep } from "../test/start-test-keep.ts";
import { openMachine } from "./test/machine.ts";

let keep: TestKeep;
let person: Teammate;

beforeAll(async () => {
  keep = await startUnlimitedKeep({ settings: { trustedProxies: "127.0.0.1" } });
  person = await addTeammate(keep);
});
afterAll(() => keep[Symbol.asyncDispose]());

/** A desktop's session: a bus, and gnome-keyring with a password that was entered at the login, or was not. */
async function startSession({ isUnlocked }: { readonly isUnlocked: boolean }) {
  const folder = await makeTemporaryFolder("keep-session");
  const daemon = "gnome-keyring-daemon --foreground --components=secrets";
  const unlocked = `printf password | ${daemon} --unlock >/dev/null 2>&1 &`;
  const line = `${isUnlocked ? unlocked : `${daemon} >/dev/null 2>&1 &`} echo "$DBUS_SESSION_BUS_ADDRESS"; read -r end; kill $!`;
  const session = spawn("dbus-run-session", ["--", "sh", "-c", line], {
    env: {
      ...childEnvironment(),
      HOME: folder.path,
      XDG_RUNTIME_DIR: folder.path,
      XDG_DATA_HOME: folder.path,
    },
  });
  // A child's output is a readable stream of buffers.
  const [address] = (await once(session.stdout, "data")) as [Buffer];
  return {
    environment: { DBUS_SESSION_BUS_ADDRESS: address.toString("utf8").trim() },
    [Symbol.asyncDispose]: async () => {
      session.stdin.end("end\n");
      await once(session, "close");
      await folder[Symbol.asyncDispose]();
    },
  };
}

const token = /sk-svc-[0-9A-Za-z]{49}/u;

test("with a Secret Service, the token and the key of the offline copy are in it, and no file has them", async () => {
  await using session = await startSession({ isUnlocked: true });
  await using machine = await openMachine(keep);
  const inSession = { environment: session.environment };
  const login = await machine.logIn(person, { keyring: session.environment });
  expect(login.stdout, login.stderr).toContain("The token is in the system keyring");
  expect(await readFile(join(machine.home, ".config/keep/logins.json"), "utf8")).not.toMatch(token);
  expect((await machine.keep(["whoami"], inSession)).code).toBe(0);
  expect((await machine.keep(["init"], inSession)).code).toBe(0);
  expect((await machine.keep(["run", "--offline", "--", "true"], inSession)).code).toBe(0);
  expect(await readdir(join(machine.home, ".config/keep"))).toEqual(["logins.json"]);
  // Without the session, there is no token to send.
  const outside = await machine.keep(["whoami"], {
    environment: { DBUS_SESSION_BUS_ADDRESS: "unix:path=/none" },
  });
  expect([outside.code, outside.stderr]).toEqual([4, expect.stringContaining("from the system keyring")]);
  expect((await machine.keep(["logout"], inSession)).code).toBe(0);
  expect((await machine.keep(["whoami"], inSession)).code).not.toBe(0);
});

test("with a keyring that nobody can unlock, the token is in a file that only its user can read", async () => {
  await using session = await startSession({ isUnlocked: false });
  await using machine = await openMachine(keep);
  const login = await machine.logIn(person, { keyring: session.environment });
  expect([login.code, login.stdout]).toEqual([
    0,
    expect.stringContaining("in a file that only you can read"),
  ]);
  expect((await machine.keep(["whoami"], { environment: session.environment })).code).toBe(0);
});
