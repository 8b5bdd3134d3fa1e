import { randomBytes } from "node:crypto";
import type { EgressRule } from "@hearth-and-keep/vault-contract";

/** A secret that the program may use without seeing its value. */
export type UsableSecret = {
  readonly id: string;
  readonly path: string;
  /** The variable that has the placeholder. */
  readonly variable: string;
  readonly rule: EgressRule;
};

export type Placeholder = { readonly text: string; readonly secret: UsableSecret };

/** Where a placeholder is among the headers of a request. */
export type Occurrence = {
  readonly placeholder: Placeholder;
  /** Of the header, in lower case. */
  readonly name: string;
  /** The header with the value in place of the placeholder. */
  readonly replace: (value: string) => string;
};

/** Cannot be guessed, and means nothing outside of this run. */
export function createPlaceholder(secret: UsableSecret): Placeholder {
  return { text: `keep_placeholder_${randomBytes(24).toString("hex")}`, secret };
}

/** Headers in which APIs expect credentials. In others, a host may show or store them. */
const credentialHeader = /^(?:authorization|[a-z0-9-]*(?:key|token|secret|auth))$/u;

export function isCredentialHeader(name: string): boolean {
  return credentialHeader.test(name) && name !== "proxy-authorization";
}

type Header = readonly [name: string, value: string];

/** Every occurrence, also in the base64 of HTTP Basic authentication; names are in lower case. */
export function findOccurrences(
  headers: readonly Header[],
  placeholders: readonly Placeholder[],
): readonly Occurrence[] {
  return headers.flatMap(([name, value]) => {
    const [, scheme = "", encoded = ""] = /^(basic +)([A-Za-z0-9+/_=-]+)$/iu.exec(value) ?? [];
    if (scheme === "" || name !== "authorization") return occurrencesIn([name, value], placeholders);
    const decoded = Buffer.from(encoded, "base64").toString("utf8");
    return occurrencesIn([name, decoded], placeholders).map((found) => ({
      ...found,
      replace: (secret) => scheme + Buffer.from(found.replace(secret)).toString("base64"),
    }));
  });
}

function occurrencesIn([name, value]: Header, placeholders: readonly Placeholder[]): readonly Occurrence[] {
  return placeholders.flatMap((placeholder) => {
    const parts = value.split(placeholder.text);
    const occurrence = { placeholder, name, replace: (secret: string) => parts.join(secret) };
    return Array.from({ length: parts.length - 1 }, () => occurrence);
  });
}
