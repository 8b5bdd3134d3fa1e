import { isId } from "../generate-id.ts";
import { hashText, isRandomToken } from "../sign-in/random-tokens.ts";

/** What the link of an invitation contains: the organisation, and a secret of which only the hash is stored. */
export type InvitationKey = { readonly accountId: string; readonly secretHash: Buffer };

export function formatCode(accountId: string, secret: string): string {
  return `${accountId}.${secret}`;
}

/** Undefined for what is no code; it is not looked up. */
export function parseCode(code: string): InvitationKey | undefined {
  const [accountId = "", secret = "", ...others] = code.split(".");
  const isCode = others.length === 0 && isId(accountId) && isRandomToken(secret);
  return isCode ? { accountId, secretHash: hashText(secret) } : undefined;
}

/** The page of the invitation. */
export function invitationPath(code: string): string {
  return `/invitation/${code}`;
}
