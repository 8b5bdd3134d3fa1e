import { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/**
 * A lock between processes: an exclusive transaction on an empty database. SQLite's locks belong to the process, so
 * that the kernel releases them however it ends, and they work on every platform and across containers.
 */
export class ProcessLock {
  readonly #path: string;
  #held: DatabaseSync | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** On a file system without locks it always succeeds; then only changes within this process exclude each other. */
  tryAcquire(): boolean {
    let database: DatabaseSync | undefined;
    try {
      database = new DatabaseSync(this.#path);
      database.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      if (isBusy(error)) {
        database?.close();
        return false;
      }
    }
    this.#held = database;
    return true;
  }

  /** Closing the database ends its transaction. */
  release(): void {
    this.#held?.close();
    this.#held = undefined;
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === sqliteBusy;
}
