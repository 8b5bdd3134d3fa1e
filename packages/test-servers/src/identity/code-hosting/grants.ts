import { createHash, randomBytes } from "node:crypto";

export type Authorization = {
  readonly clientId: string;
  readonly accountId: number;
  readonly scopes: readonly string[];
  readonly redirectUri: string;
  /** Present when the application used PKCE; then the exchange must verify it. */
  readonly codeChallenge: string | undefined;
};

export type Grants = {
  issueCode(authorization: Authorization): string;
  /** Undefined for an unknown, used or expired code; clients cannot distinguish these. */
  findCode(code: string): Authorization | undefined;
  /** Exchanges a code, which cannot be used again, for an access token. */
  issueToken(code: string, authorization: Authorization): string;
  findToken(token: string): Authorization | undefined;
  /** A token that the account's owner creates without an application. */
  issuePersonalToken(accountId: number, scopes: readonly string[]): string;
  revokeTokensOf(accountId: number): void;
};

export function createGrants(codeLifetimeSeconds: number): Grants {
  const codes = new Map<string, { authorization: Authorization; expiresAt: number }>();
  const tokens = new Map<string, Authorization>();
  return {
    issueCode(authorization) {
      const code = randomBytes(10).toString("hex");
      codes.set(code, { authorization, expiresAt: Date.now() + codeLifetimeSeconds * 1000 });
      return code;
    },
    findCode(code) {
      const found = codes.get(code);
      return found === undefined || found.expiresAt <= Date.now() ? undefined : found.authorization;
    },
    issueToken(code, authorization) {
      codes.delete(code);
      const token = `gho_${randomBytes(18).toString("hex")}`;
      tokens.set(token, authorization);
      return token;
    },
    findToken: (token) => tokens.get(token),
    issuePersonalToken(accountId, scopes) {
      const token = `ghp_${randomBytes(18).toString("hex")}`;
      tokens.set(token, {
        clientId: "",
        accountId,
        scopes,
        redirectUri: "",
        codeChallenge: undefined,
      });
      return token;
    },
    revokeTokensOf(accountId) {
      for (const [token, authorization] of tokens)
        if (authorization.accountId === accountId) tokens.delete(token);
    },
  };
}

/** RFC 7636 S256, the only method that GitHub supports. */
export function provesChallenge(codeChallenge: string, codeVerifier: string): boolean {
  return createHash("sha256").update(codeVerifier).digest("base64url") === codeChallenge;
}
