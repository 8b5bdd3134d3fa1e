import { StringDecoder } from "node:string_decoder";
import { errorScreen } from "@hearth-and-keep/terminal";
import { clientFailure } from "./client-failure.ts";

const interrupt = "\u0003";
const endOfInput = "\u0004";
const backspaces = ["\u0008", "\u007F"];
const maxCharacters = 1024 * 1024;

/** Reads a line from the terminal without showing it. A pasted value ends at its first newline. */
export async function promptHidden(question: string): Promise<string> {
  const { stdin } = process;
  const decoder = new StringDecoder("utf8");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const characters: string[] = [];
  const onData = (bytes: Buffer): void => {
    for (const character of decoder.write(bytes)) {
      if (character === interrupt) return reject(clientFailure({ kind: "interrupted" }));
      if (["\r", "\n", endOfInput].includes(character)) return resolve(characters.join(""));
      if (backspaces.includes(character)) characters.pop();
      else if (characters.length < maxCharacters) characters.push(character);
    }
  };
  const onEnd = (): void => resolve(characters.join(""));
  stdin.setRawMode(true);
  // Only now, because what is typed before is shown.
  errorScreen.write(question);
  stdin.on("data", onData).on("end", onEnd).resume();
  try {
    return await promise;
  } finally {
    stdin.off("data", onData).off("end", onEnd).pause();
    stdin.setRawMode(false);
    errorScreen.writeLine();
  }
}
