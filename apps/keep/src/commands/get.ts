import { sanitizeText, screen } from "@hearth-and-keep/terminal";
import { secretValue } from "@hearth-and-keep/vault-contract";
import { clientFailure } from "../client/client-failure.ts";
import {
  addContextFlags,
  type ContextFlags,
  encodePath,
  openVaultContext,
  pathOf,
  type VaultContext,
} from "../client/open-context.ts";
import { readInherited } from "../client/read-values.ts";
import type { DefineCommand } from "./command-entry.ts";

type GetFlags = ContextFlags & { readonly reveal?: boolean; readonly raw?: boolean; readonly json?: boolean };

type FoundValue = {
  readonly path: string;
  readonly version: number;
  readonly type: string;
  readonly value: string;
  readonly encoding: "utf8" | "base64";
};

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument(
        "<name>",
        "name in the folder, or a path from the root of the vault such as /prod/DATABASE_URL",
      )
      .option("--reveal", "print the value in a terminal too")
      .option("--raw", "do not replace references such as ${./HOST}")
      .option("--json", "print JSON"),
  ).action(get);
};

async function get(name: string, flags: GetFlags): Promise<void> {
  // Before the value is read, so that the audit log has no record of a read that shows nothing.
  if (screen.isTerminal && flags.reveal !== true) {
    const message = "The value is not printed in a terminal, where others could see it";
    throw clientFailure({ kind: "usage-error", message, next: "pass --reveal, or pipe it to a program" });
  }
  await using context = await openVaultContext(flags);
  const found = await findValue(name, flags, context);
  const { path, version, type, value, encoding } = found;
  if (flags.json === true) {
    screen.writeLine(JSON.stringify({ path, version, type, value, encoding }, null, 2));
  } else if (screen.isTerminal) screen.writeLine(encoding === "utf8" ? sanitizeText(value) : value);
  // Byte for byte, without a newline that the value does not have.
  else process.stdout.write(Buffer.from(value, encoding));
}

async function findValue(name: string, { raw }: GetFlags, context: VaultContext): Promise<FoundValue> {
  const expand = raw === true ? undefined : "references";
  if (context.isInheriting && !name.includes("/")) return readInherited(name, { expand }, context);
  const path = pathOf(name, context);
  return context.client.request(`/api/secrets/vaults/${context.vaultId}/values/by-path${encodePath(path)}`, {
    shape: secretValue,
    query: { expand },
    subject: path,
  });
}
