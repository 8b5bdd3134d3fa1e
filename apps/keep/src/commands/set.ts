import { isUtf8 } from "node:buffer";
import { errorScreen, screen } from "@hearth-and-keep/terminal";
import { type SecretMetadata, secret } from "@hearth-and-keep/vault-contract";
import { clientFailure, isClientFailure } from "../client/client-failure.ts";
import {
  addContextFlags,
  type ContextFlags,
  encodePath,
  openVaultContext,
  pathOf,
  type VaultContext,
} from "../client/open-context.ts";
import { readNewValue, type ValueFlags } from "../client/read-new-value.ts";
import type { DefineCommand } from "./command-entry.ts";

type SetFlags = ContextFlags & ValueFlags & { readonly create?: boolean; readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addContextFlags(
    command
      .argument(
        "<name>",
        "name in the folder, or a path from the root of the vault such as /prod/DATABASE_URL",
      )
      .argument("[value]", "not accepted: other users of the machine see arguments, and shells store them")
      .option("--file <file>", "write the content of a file, byte for byte")
      .option("--generate [length]", "write random letters and digits, 32 by default, which are not printed")
      .option("--create", "fail if the secret exists")
      .option("--json", "print JSON"),
  )
    .addHelpText(
      "after",
      "\nWithout --file and --generate, the value is read from standard input, or asked for in a terminal.",
    )
    .action(set);
};

async function set(name: string, argument: string | undefined, flags: SetFlags): Promise<void> {
  if (argument !== undefined) {
    const message = "A value is not accepted as an argument: other users see it, and your shell stores it";
    const next = "run the command without it and enter the value, pipe it in, or use --file";
    throw clientFailure({ kind: "usage-error", message, next });
  }
  await using context = await openVaultContext(flags);
  const path = pathOf(name, context);
  const value = await readNewValue(path, flags);
  const written = await write(context, { path, value, isNew: flags.create === true });
  if (flags.json === true) screen.writeLine(JSON.stringify(written, null, 2));
  else errorScreen.writeLine(`Wrote ${path}, version ${written.version}`);
}

type NewValue = { readonly path: string; readonly value: Buffer; readonly isNew: boolean };

async function write(context: VaultContext, { path, value, isNew }: NewValue): Promise<SecretMetadata> {
  const { client, vaultId } = context;
  const address = `/api/secrets/vaults/${vaultId}/secrets/by-path${encodePath(path)}`;
  const body = isUtf8(value)
    ? { value: value.toString("utf8") }
    : { value: value.toString("base64"), encoding: "base64", type: "binary" };
  const put = (headers: Readonly<Record<string, string>>) =>
    client.request(address, { method: "PUT", body, headers, shape: secret, subject: path });
  if (isNew) return put({ "if-none-match": "*" });
  try {
    return await put({});
  } catch (error) {
    const isRequired =
      isClientFailure(error, "problem") && error.failure.problem.code === "precondition_required";
    if (!isRequired) throw error;
    // The vault accepts no write that does not say what it replaces.
    return put(await readPrecondition(address, context));
  }
}

async function readPrecondition(
  address: string,
  { client }: VaultContext,
): Promise<Readonly<Record<string, string>>> {
  try {
    const response = await client.requestTagged(address, { shape: secret });
    return response.isUnchanged || response.tag === undefined ? {} : { "if-match": response.tag };
  } catch (error) {
    const isNew = isClientFailure(error, "problem") && error.failure.problem.code === "not_found";
    if (!isNew) throw error;
    return { "if-none-match": "*" };
  }
}
