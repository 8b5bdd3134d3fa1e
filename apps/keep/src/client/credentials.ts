import { join } from "node:path";
import { Type } from "typebox";
import { Check } from "typebox/value";
import { clientFailure } from "./client-failure.ts";
import { configurationFolder } from "./config.ts";
import type { Keyring } from "./keyring.ts";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

const storedLogin = Type.Object(
  {
    server: Type.String({ maxLength: 2048 }),
    account: Type.Object({
      id: Type.String({ maxLength: 36 }),
      name: Type.String({ maxLength: 255 }),
      kind: Type.Enum(["person", "organisation"]),
    }),
    person: Type.String({ maxLength: 255 }),
    expires_at: Type.String({ maxLength: 32 }),
    /** Absent when the keyring has it. */
    token: Type.Optional(Type.String({ maxLength: 255 })),
  },
  { additionalProperties: false },
);
const storedLogins = Type.Object(
  { logins: Type.Array(storedLogin, { maxItems: 1000 }) },
  { additionalProperties: false },
);

type StoredLogin = Type.Static<typeof storedLogin>;

/** A server that a person logged in to, and their token there. */
export type Login = Omit<StoredLogin, "token">;

export type CredentialStore = {
  /** Most recent first. */
  list(): Promise<readonly Login[]>;
  readToken(login: Login): Promise<string>;
  /** Replaces the login of the same server and account. Says where the token is. */
  save(login: Login, token: string): Promise<"keyring" | "file">;
  remove(login: Login): Promise<void>;
};

export type StoreOptions = {
  readonly folder?: string;
  /** Undefined to keep tokens in the file. */
  readonly openKeyring: (() => Promise<Keyring | undefined>) | undefined;
};

const maxFileBytes = 4 * 1024 * 1024;

/** Which logins there are is in a file that only this user can read; the tokens are in the keyring if there is one. */
export function openCredentialStore({
  folder = configurationFolder(),
  openKeyring,
}: StoreOptions): CredentialStore {
  const file = join(folder, "logins.json");
  const read = () => readLogins(file);
  const write = (logins: readonly StoredLogin[]) =>
    writePrivateFile(file, `${JSON.stringify({ logins }, null, 2)}\n`);
  return {
    list: async () => (await read()).map(({ token: _token, ...each }) => each),
    async readToken(wanted) {
      const found = (await read()).find((each) => isSame(each, wanted));
      const token = found?.token ?? (await readFromKeyring(wanted, openKeyring));
      if (token === undefined) throw clientFailure({ kind: "keyring-unusable", server: wanted.server });
      return token;
    },
    async save(added, token) {
      const others = (await read()).filter((each) => !isSame(each, added));
      const isInKeyring = await saveInKeyring(added, token, openKeyring);
      await write([isInKeyring ? added : { ...added, token }, ...others]);
      return isInKeyring ? "keyring" : "file";
    },
    async remove(removed) {
      const logins = await read();
      const keyring = await openKeyring?.();
      // What the keyring does not give back is useless: its token is revoked.
      await keyring?.delete(nameOf(removed)).catch(() => undefined);
      await write(logins.filter((each) => !isSame(each, removed)));
    },
  };
}

function isSame(one: Login, other: Login): boolean {
  return one.server === other.server && one.account.id === other.account.id;
}

function nameOf({ server, account }: Login): string {
  return `${server} ${account.id}`;
}

async function readLogins(file: string): Promise<readonly StoredLogin[]> {
  const content = await readPrivateFile(file, maxFileBytes);
  if (content === undefined) return [];
  const stored = parseJson(content.toString("utf8"));
  if (!Check(storedLogins, stored))
    throw clientFailure({ kind: "file-unusable", file, reason: "it is not a list of logins" });
  return stored.logins;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readFromKeyring(
  login: Login,
  openKeyring: StoreOptions["openKeyring"],
): Promise<string | undefined> {
  const keyring = await openKeyring?.();
  return keyring?.get(nameOf(login)).catch(() => undefined);
}

/** False when there is no keyring, or it is locked. */
async function saveInKeyring(
  login: Login,
  token: string,
  openKeyring: StoreOptions["openKeyring"],
): Promise<boolean> {
  const keyring = await openKeyring?.();
  if (keyring === undefined) return false;
  try {
    await keyring.set(nameOf(login), token);
    return (await keyring.get(nameOf(login))) === token;
  } catch {
    return false;
  }
}
