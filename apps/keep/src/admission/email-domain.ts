import { domainToASCII, domainToUnicode } from "node:url";

const hostName = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;
const maxDomainCharacters = 253;

/** The domain of an e-mail address in its canonical form; undefined if it has none that can be compared safely. */
export function emailDomain(email: string): string | undefined {
  const [local = "", domain = "", ...others] = email.split("@");
  return local === "" || others.length > 0 ? undefined : canonicalDomain(domain);
}

/**
 * In lower case and ASCII. A domain in Unicode must be in the form that its ASCII form stands for: other spellings, such as
 * a Kelvin sign for a K or full-width letters, would become equal to a domain that they are not.
 */
export function canonicalDomain(text: string): string | undefined {
  const isAscii = /^[\x21-\x7e]*$/u.test(text);
  const ascii = isAscii ? text.toLowerCase() : domainToASCII(text);
  if (ascii.length > maxDomainCharacters || !hostName.test(ascii)) return undefined;
  return isAscii || domainToUnicode(ascii) === text ? ascii : undefined;
}
