/** How Keep gets a key from a custodian, and where the sealed key is. */
export type SealedKey = {
  /** A value of `--encryption-key-command`. */
  readonly command: string;
  readonly file: string;
};

/** Takes something away from a custodian, or from Keep; the returned function gives it back. */
export type Fault = () => Promise<() => Promise<void>>;

/** Somebody who keeps the key for Keep. */
export type Custodian = AsyncDisposable & {
  /** Contains everything that it stores in files. */
  readonly folder: string;
  /** Seals a key under this name. */
  seal(key: string, name: string): Promise<SealedKey>;
  readonly faults: Readonly<Record<"away" | "permission lost", Fault>>;
};
