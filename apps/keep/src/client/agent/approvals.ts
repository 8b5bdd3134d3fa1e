import { openSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { ReadStream, WriteStream } from "node:tty";
import { sanitizeLine } from "@hearth-and-keep/terminal";
import type { UsableSecret } from "./placeholders.ts";

export type ApprovalDependencies = {
  /** Stops the program and lets it go on, so that it does not read what is typed. */
  readonly pause: () => void;
  readonly resume: () => void;
};

const answerSeconds = 60;
const maxCharacters = 512;

/**
 * Asks once for each secret and host, one question at a time. The answer is the name of the host rather than "yes", because
 * the program can write to the terminal and change what the question seems to be.
 */
export function createApprovals(dependencies: ApprovalDependencies): ForwardApproval {
  const answers = new Map<string, Promise<boolean>>();
  let last: Promise<unknown> = Promise.resolve();
  return (secret, host) => {
    const key = JSON.stringify([secret.id, host]);
    const known = answers.get(key);
    if (known !== undefined) return known;
    const answer = last.then(() => askOnce(secret, host, dependencies)).catch(() => false);
    last = answer;
    answers.set(key, answer);
    return answer;
  };
}

type ForwardApproval = (secret: UsableSecret, host: string) => Promise<boolean>;

async function askOnce(
  { variable, path }: UsableSecret,
  host: string,
  { pause, resume }: ApprovalDependencies,
): Promise<boolean> {
  // Of this process, which the program cannot redirect. Fails without a terminal.
  const input = new ReadStream(openSync("/dev/tty", "r"));
  const output = new WriteStream(openSync("/dev/tty", "w"));
  pause();
  try {
    const name = sanitizeLine(`${variable} (${path})`);
    output.write(
      `\r\nKeep: the program wants to use ${name} for ${host}.\r\nType the name of the host to allow it, or Enter to refuse: `,
    );
    return (await readLine(input, output)) === host;
  } finally {
    output.write("\r\n");
    resume();
    input.destroy();
    output.destroy();
  }
}

/** Undefined when nothing is entered in time. */
async function readLine(input: ReadStream, output: WriteStream): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const timer = setTimeout(() => resolve(undefined), answerSeconds * 1000);
  const decoder = new StringDecoder("utf8");
  let line = "";
  input.setRawMode(true);
  input.on("error", () => resolve(undefined)).on("end", () => resolve(undefined));
  input.on("data", (bytes: Buffer) => {
    for (const character of decoder.write(bytes)) {
      if (character === "\u0003" || character === "\u0004") return resolve(undefined);
      if (character === "\r" || character === "\n") return resolve(line);
      if (character === "\u007F" || character === "\u0008") {
        if (line !== "") output.write("\b \b");
        line = line.slice(0, -1);
      } else if (character >= " " && line.length < maxCharacters) {
        line += character;
        output.write(character);
      }
    }
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    input.setRawMode(false);
  }
}
