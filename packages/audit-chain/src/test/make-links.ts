/**
 * @module
 * Valid links of a chain, for tests of exports.
 * Imported only by tests, of other packages through testing.ts.
 */
import { type AuditLink, hashBeforeFirst, hashBody, hashLink } from "../link.ts";

export async function makeLinks(chain: string, count: number): Promise<readonly AuditLink[]> {
  const links: AuditLink[] = [];
  let previous = await hashBeforeFirst(chain);
  for (let seq = 1; seq <= count; seq += 1) {
    const body = { type: "value-read", path: `/a/${seq}`, version: seq };
    const unhashed = {
      seq,
      at: `2026-01-31T08:15:00.${String(seq).padStart(6, "0")}Z`,
      previous,
      body_hash: await hashBody(body),
      hash: "",
      body,
      subject_id: null,
      revision: null,
    };
    previous = await hashLink(chain, unhashed);
    links.push({ ...unhashed, hash: previous });
  }
  return links;
}
