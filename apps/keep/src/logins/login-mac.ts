import { timingSafeEqual } from "node:crypto";
import type { ServerKeys } from "../keys/server-keys.ts";
import type { Login, StoredLogin } from "./queries.ts";

export type LoginKeys = Pick<ServerKeys, "fingerprint">;

/** With a MAC over what was asked for and what was decided. */
export function signLogin(login: Login, serverKeys: LoginKeys): StoredLogin {
  return { ...login, mac: computeMac(login, serverKeys) };
}

export function isGenuineLogin({ mac, ...login }: StoredLogin, serverKeys: LoginKeys): boolean {
  return timingSafeEqual(mac, computeMac(login, serverKeys));
}

/** A keyed hash: user codes are short, so a plain hash of one would reveal it. */
export function hashCode(purpose: "code" | "user-code", code: string, serverKeys: LoginKeys): Buffer {
  return serverKeys.fingerprint([`command-line-${purpose}`, code]);
}

function computeMac(login: Login, serverKeys: LoginKeys): Buffer {
  return serverKeys.fingerprint([
    "command-line-login",
    login.codeHash.toString("hex"),
    login.userCodeHash?.toString("hex") ?? "",
    login.codeChallenge ?? "",
    login.machine,
    login.address,
    login.permission,
    login.expiresAt.getTime(),
    login.decision ?? "",
    login.accountId ?? "",
    login.personId ?? "",
    login.sessionId ?? "",
  ]);
}
