import type { Checkpoint, CheckpointKey } from "@hearth-and-keep/audit-chain";

export type TrustedAuditMaterial = {
  /** Public keys stored separately from the export; without them the export's own keys are trusted. */
  readonly keys?: readonly CheckpointKey[] | undefined;
  /** Signed notes stored separately from the logs; those of other logs are ignored. */
  readonly checkpoints?: readonly string[] | undefined;
  /** Checkpoints of a chain in the old format, stored separately from the database. */
  readonly chainCheckpoints?: readonly Checkpoint[] | undefined;
};

export type AuditVerification =
  | {
      readonly isValid: true;
      readonly stream: string;
      readonly records: number;
      /** Records of a chain in the old format, from before the stream. */
      readonly carriedOver: number;
      /** Records whose content was erased, those of the chain included. */
      readonly erased: number;
      /** Time of the earliest record. */
      readonly since: string | undefined;
      readonly logs: readonly VerifiedLog[];
      /** Trusted checkpoints that were compared with the export. */
      readonly trustedCheckpoints: number;
    }
  | {
      readonly isValid: false;
      readonly stream: string | undefined;
      /** `<log>/<number>`, or the number of a record of the chain; undefined when no record is at fault. */
      readonly record: string | undefined;
      readonly line: number;
      readonly reason: string;
    };

export type VerifiedLog = {
  readonly origin: string;
  readonly size: number;
  /** Records of the stream in this log. */
  readonly records: number;
  /** The leaves before it are archived, so that the export does not contain them. */
  readonly archivedBefore?: number | undefined;
};
