import type { SecretMetadata } from "@hearth-and-keep/vault-contract";
import { parseEgressRule } from "./egress/egress-rule.ts";
import type { SecretMetadataRow, SecretRow } from "./queries.ts";
import { joinPath } from "./secret-path.ts";

export type { SecretMetadata };

/** Metadata without the value or the note. */
export function describeSecret(row: SecretMetadataRow | SecretRow): SecretMetadata {
  return {
    id: row.id,
    folder: row.folder,
    name: row.name,
    path: joinPath(row.folder, row.name),
    type: row.type,
    version: row.current_version,
    revision: row.revision,
    tags: [...row.tags],
    has_note: "has_note" in row ? row.has_note : row.note_sealed !== null,
    size: row.size,
    ...(row.egress === null ? {} : { egress: parseEgressRule(row.egress) }),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    updated_by: row.updated_by,
    ...(row.deleted_at === null ? {} : { deleted_at: row.deleted_at.toISOString() }),
  };
}
