import { setTimeout as delay } from "node:timers/promises";
import {
  type DeviceLogin,
  deviceGrant,
  deviceLogin,
  type LoginToken,
  loginToken,
} from "@hearth-and-keep/vault-contract";
import { clientFailure, isClientFailure } from "../client-failure.ts";
import type { VaultClient } from "../vault-client.ts";
import type { LoginRequest } from "./redirect-login.ts";

export type DeviceOptions = {
  /** Shows the code and the page to the person. */
  readonly onCode: (login: DeviceLogin) => void;
  /** Replaces waiting in tests. */
  readonly wait?: (seconds: number) => Promise<void>;
};

/** By which the interval grows when the server asks for fewer requests (RFC 8628 section 3.5). */
const slowerSeconds = 5;

/** The login of RFC 8628, for a machine without a browser. */
export async function loginByDevice(
  client: VaultClient,
  request: LoginRequest,
  { onCode, wait = async (seconds) => delay(seconds * 1000) }: DeviceOptions,
): Promise<LoginToken> {
  const login = await client.request("/api/logins/device", {
    method: "POST",
    form: request,
    shape: deviceLogin,
  });
  onCode(login);
  const form = { grant_type: deviceGrant, device_code: login.device_code };
  const deadline = performance.now() + login.expires_in * 1000;
  for (let interval = login.interval; performance.now() < deadline; ) {
    await wait(interval);
    try {
      return await client.request("/api/logins/token", { method: "POST", form, shape: loginToken });
    } catch (error) {
      if (isSlowDown(error)) interval += slowerSeconds;
      else if (!isPending(error)) throw error;
    }
  }
  throw clientFailure({ kind: "login-timed-out" });
}

function isSlowDown(error: unknown): boolean {
  return isClientFailure(error, "login-refused") && error.failure.error === "slow_down";
}

/** A connection that fails for a moment does not end the login either. */
function isPending(error: unknown): boolean {
  if (isClientFailure(error, "login-refused")) return error.failure.error === "authorization_pending";
  return isClientFailure(error, "server-unreachable");
}
