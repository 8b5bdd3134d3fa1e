import { readFile } from "node:fs/promises";
import { FailureError } from "@hearth-and-keep/failures";
import type { Outbound } from "@hearth-and-keep/outbound-http";
import type { ServeConfig } from "../config.ts";
import type { Failure } from "../failures.ts";
import { readCodeHostingAddresses } from "../sign-in/identity-providers.ts";
import { issuerOf } from "../sign-in/provider-client.ts";
import type { MembershipSource } from "./check-memberships.ts";

type MembershipConfig = Pick<
  ServeConfig,
  | "codeHostingName"
  | "codeHostingUrl"
  | "codeHostingApiUrl"
  | "codeHostingClientId"
  | "codeHostingMembershipTokenFile"
  | "allowedCodeHostingOrgs"
>;

type OpenOutbound = (privateHosts: readonly string[]) => Pick<Outbound, "request">;

/** Undefined without a token. Throws for one that cannot be used. */
export async function openMembershipSource(
  config: MembershipConfig,
  openOutbound: OpenOutbound,
): Promise<MembershipSource | undefined> {
  const { codeHostingMembershipTokenFile: path, allowedCodeHostingOrgs } = config;
  if (path === undefined) return undefined;
  if (allowedCodeHostingOrgs.length === 0 || config.codeHostingClientId === undefined)
    throw new FailureError<Failure>({ kind: "membership-token-unused" });
  const readToken = () => readTokenFile(path);
  if ((await readToken()) === undefined)
    throw new FailureError<Failure>({ kind: "membership-token-unreadable", path });
  const { base, api } = readCodeHostingAddresses(config);
  return {
    client: {
      outbound: openOutbound([api.host]),
      isInsecure: api.protocol === "http:",
      name: config.codeHostingName,
    },
    api,
    issuer: issuerOf(base),
    readToken,
  };
}

/** Printable ASCII only, so that a token cannot inject a second header. */
const tokenText = /^[!-~]{1,2048}$/u;

async function readTokenFile(path: string): Promise<string | undefined> {
  const text = await readFile(path, "utf8").catch(() => "");
  const token = text.trim();
  return tokenText.test(token) ? token : undefined;
}
