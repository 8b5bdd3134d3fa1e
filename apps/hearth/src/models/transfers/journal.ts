import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { asFields, parseJson, wholeField } from "../store/json-fields.ts";

type JournalPlan = {
  readonly size: number;
  readonly pieceBytes: number;
  /** Whether the content that it tells of is there at all. */
  readonly isOld: boolean;
};

const mostBytes = 64 * 1024 * 1024;
const mostPieces = 2 ** 32;

/** What an earlier attempt noted is believed when it is about content of the same size in the same pieces. */
export async function openJournal(path: string, plan: JournalPlan): Promise<Journal> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const file = await open(path, flags, 0o644);
  try {
    const { size } = await file.stat();
    const [head = "", ...lines] = size > mostBytes ? [] : (await file.readFile("utf8")).split("\n");
    const title = JSON.stringify({ size: plan.size, pieceBytes: plan.pieceBytes });
    const isUsable = plan.isOld && head === title;
    const journal = new Journal(path, file, title);
    if (!isUsable) await journal.clear();
    // The last line may be torn; what is no line of ours is passed over.
    else for (const line of lines.slice(0, -1)) journal.read(line);
    return journal;
  } catch (problem) {
    await file.close();
    throw problem;
  }
}

/** Says which pieces were written, and the sum of each, by which damage is found before the whole is hashed. */
export class Journal implements AsyncDisposable {
  readonly path: string;
  readonly sums = new Map<number, number>();
  readonly #file: FileHandle;
  readonly #title: string;

  constructor(path: string, file: FileHandle, title: string) {
    this.path = path;
    this.#file = file;
    this.#title = title;
  }

  read(line: string): void {
    try {
      const fields = asFields(parseJson(Buffer.from(line)), "a line");
      const piece = wholeField(fields, "piece", mostPieces);
      const sum = wholeField(fields, "crc32", 2 ** 32);
      if (piece !== undefined && sum !== undefined) this.sums.set(piece, sum);
    } catch {
      // A piece that nobody vouches for is fetched again.
    }
  }

  async note(pieces: readonly (readonly [piece: number, sum: number])[]): Promise<void> {
    await this.#file.appendFile(
      pieces.map(([piece, sum]) => `${JSON.stringify({ piece, crc32: sum })}\n`).join(""),
    );
  }

  async clear(): Promise<void> {
    this.sums.clear();
    await this.#file.truncate(0);
    await this.#file.appendFile(`${this.#title}\n`);
    await this.#file.sync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
