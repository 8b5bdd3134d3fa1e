import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";
import { addPreparedModels } from "../../../../test/prepared-models.ts";
import { tiny } from "../../../../test/start-test-server.ts";

const program = fileURLToPath(new URL("../../../../../bin/hearth.js", import.meta.url));

export type Answer = { readonly status: number; readonly text: string };

/** The last event of a stream; a client that received it regards the response as complete. */
const lastEvent = /event: response\.(?:completed|incomplete)\ndata: ([^\n]*)\n\n/u;

/** The real program with the model "tiny" and stored responses in a folder, killed while clients use it. */
export class KilledServer implements AsyncDisposable {
  readonly #folder: string;
  #current: Promise<OwnedProcess>;
  kills = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#current = this.#start();
  }

  /** Each key has the name given and the value `name-secret`. */
  static async start(folder: string, keyNames: readonly string[]): Promise<KilledServer> {
    await addPreparedModels(join(folder, "models"), { tiny });
    const lines = keyNames.map((name) => `${name}:${name}-secret\n`);
    await writeFile(join(folder, "keys"), lines.join(""), { mode: 0o600 });
    return new KilledServer(folder);
  }

  get responseFolder(): string {
    return join(this.#folder, "responses");
  }

  get keyFile(): string {
    return join(this.#folder, ".hearth", "response.key");
  }

  /** Resolves when the next process listens. */
  async kill(): Promise<void> {
    const server = await this.#current;
    process.kill(server.pid, "SIGKILL");
    this.kills += 1;
    this.#current = server.exited.then(() => this.#start());
    await this.#current;
  }

  /** Repeats a request until a process answers it completely. */
  async send(keyName: string, path: string, body?: object): Promise<Answer> {
    for (;;) {
      const url = /Hearth is listening on (\S+)/u.exec((await this.#current).output())?.[1] ?? "";
      const answer = await sendOnce(`${url}${path}`, keyName, body);
      if (answer !== undefined) return answer;
      await sleep(10);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#current)[Symbol.asyncDispose]();
  }

  #start(): Promise<OwnedProcess> {
    // More log records would push its address out of the output that is kept.
    const server = { port: 0, logLevel: "warn", maxStoredResponses: 600 };
    const settings = { ...server, engine: "binding", threads: 1, contextLength: 4096 };
    const paths = { models: "models", apiKeysFile: "keys", responseFolder: "responses" };
    const flags = [
      ...Object.entries(settings),
      ...Object.entries(paths).map(([name, path]) => [name, join(this.#folder, path)] as const),
    ].flatMap(([name, value]) => [`--${toFlag(name)}`, String(value)]);
    return startProcess({
      command: process.execPath,
      arguments: [program, "serve", ...flags],
      environment: { HOME: this.#folder },
      isReady: (output) => output.includes("Hearth is listening on"),
      readyWithinSeconds: 60,
    });
  }
}

function toFlag(name: string): string {
  return name.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`);
}

/** Undefined if the process was killed before the answer was complete. */
async function sendOnce(url: string, keyName: string, body?: object): Promise<Answer | undefined> {
  let text = "";
  try {
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${keyName}-secret` },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    try {
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += chunk;
    } catch (error) {
      if (!lastEvent.test(text)) throw error;
    }
    return { status: response.status, text: isStream ? responseOf(text) : text };
  } catch {
    return undefined;
  }
}

function responseOf(stream: string): string {
  const { response } = Object(JSON.parse(lastEvent.exec(stream)?.[1] ?? "{}"));
  return JSON.stringify(response ?? stream);
}
