import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
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

  /**
   * Always succeeds on a disk that is read-only or has no locks. There, whoever acquired it cannot write, or excludes
   * only changes of its own process.
   */
  tryAcquire(): boolean {
    let database: DatabaseSync | undefined;
    try {
      mkdirSync(dirname(this.#path), { recursive: true });
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
