import { generateKeyText } from "../keys/key-encryption-key.ts";
import type { DefineCommand } from "./command-entry.ts";
import { print } from "./open-stored.ts";

export const define: DefineCommand = (command) => {
  command.action(() => print(generateKeyText()));
};
