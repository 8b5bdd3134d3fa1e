import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { Compile } from "typebox/compile";
import { parseJson } from "../store/parse-json.ts";
import { journalLineSchema } from "./schema.ts";

type JournalOptions = {
  readonly size: number;
  readonly blockBytes: number;
  /** Whether the file that the journal describes existed with the right size. */
  readonly hasContent: boolean;
};

const maxBytes = 64 * 1024 * 1024;
const lineValidator = Compile(journalLineSchema);

/** The journal of an earlier attempt is reused when it describes content of the same size and block size. */
export async function openJournal(
  path: string,
  { size, blockBytes, hasContent }: JournalOptions,
): Promise<Journal> {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW;
  const file = await open(path, flags, 0o644);
  try {
    const { size: journalBytes } = await file.stat();
    const [head = "", ...lines] = journalBytes > maxBytes ? [] : (await file.readFile("utf8")).split("\n");
    const header = JSON.stringify({ size, blockBytes });
    const journal = new Journal(path, file, header);
    if (!hasContent || head !== header) await journal.clear();
    // The last line may be torn.
    else for (const line of lines.slice(0, -1)) journal.read(line);
    return journal;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** Records which blocks were written and their checksums, so that damage is found before the whole file is hashed. */
export class Journal implements AsyncDisposable {
  readonly path: string;
  readonly checksums = new Map<number, number>();
  readonly #file: FileHandle;
  readonly #header: string;

  constructor(path: string, file: FileHandle, header: string) {
    this.path = path;
    this.#file = file;
    this.#header = header;
  }

  read(line: string): void {
    try {
      const { block, crc32 } = parseJson(Buffer.from(line), lineValidator);
      this.checksums.set(block, crc32);
    } catch {
      // An invalid line is skipped: its block is fetched again.
    }
  }

  async append(blocks: readonly (readonly [block: number, checksum: number])[]): Promise<void> {
    await this.#file.appendFile(
      blocks.map(([block, checksum]) => `${JSON.stringify({ block, crc32: checksum })}\n`).join(""),
    );
  }

  async clear(): Promise<void> {
    this.checksums.clear();
    await this.#file.truncate(0);
    await this.#file.appendFile(`${this.#header}\n`);
    await this.#file.sync();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }
}
