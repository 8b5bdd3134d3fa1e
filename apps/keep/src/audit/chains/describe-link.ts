import { type AuditLink, CanonicalFormError, canonicalJson, type Json } from "@hearth-and-keep/audit-chain";
import type { LinkRow } from "./queries.ts";

export function describeLink(row: LinkRow): AuditLink {
  return {
    ...row,
    seq: Number(row.seq),
    body: row.body === null ? null : parseBody(row.body),
    revision: row.revision === null ? null : Number(row.revision),
  };
}

/** A body that is not canonical JSON was tampered with; it is returned as text, and verification reports it. */
export function parseBody(text: string): Json {
  try {
    // JSON.parse returns only JSON values.
    const body = JSON.parse(text) as Json;
    canonicalJson(body);
    return body;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof CanonicalFormError) return text;
    throw error;
  }
}
