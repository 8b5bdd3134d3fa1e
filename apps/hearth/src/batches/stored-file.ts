import type { Stored } from "./keyed-store.ts";
import type { Reservation } from "./memory-ledger.ts";

/** A file in memory. */
export type StoredFile = Stored & {
  readonly fileName: string;
  readonly purpose: "batch" | "batch_output" | "user_data";
  readonly content: Uint8Array<ArrayBuffer>;
  readonly createdAt: Date;
};

export type NewFile = Pick<StoredFile, "id" | "fileName" | "purpose" | "content"> & {
  readonly reservation: Reservation;
  readonly lifetimeSeconds: number;
};

export function createFile({ reservation, lifetimeSeconds, ...file }: NewFile): StoredFile {
  const createdAt = new Date();
  return {
    ...file,
    createdAt,
    deletedAt: createdAt.getTime() + lifetimeSeconds * 1000,
    release: () => reservation.release(),
  };
}
