import type { CommandEntry } from "./command-entry.ts";

/** All commands, in the order of the help text: of a program's users first, then of the server. */
// biome-ignore format: a table is read down its columns
export const commandTable: readonly CommandEntry[] = [
  { name: "login", summary: "Connect this machine with a Keep server", load: () => import("./login.ts") },
  { name: "logout", summary: "Revoke this machine's token and remove it", load: () => import("./logout.ts") },
  { name: "whoami", summary: "Show the server, the account and the token in use", load: () => import("./whoami.ts") },
  { name: "init", summary: "Choose the vault and folder of this project", load: () => import("./init.ts") },
  { name: "run", summary: "Run a program with secrets in its environment", load: () => import("./run.ts") },
  { name: "list", summary: "List secrets, without their values", load: () => import("./list.ts") },
  { name: "get", summary: "Print the value of a secret", load: () => import("./get.ts") },
  { name: "set", summary: "Write the value of a secret", load: () => import("./set.ts") },
  { name: "egress", summary: "Show or set for what requests agents may use a secret", load: () => import("./egress.ts") },
  { name: "history", summary: "List the versions of a secret", load: () => import("./history.ts") },
  { name: "diff", summary: "Compare versions of a secret, or two environments", load: () => import("./diff.ts") },
  { name: "restore", summary: "Write an older version as a new one", load: () => import("./restore.ts") },
  { name: "import", summary: "Import a .env or JSON file", load: () => import("./import.ts") },
  { name: "export", summary: "Export a folder for other programs", load: () => import("./export.ts") },
  { name: "completion", summary: "Print a completion script for bash, zsh or fish", load: () => import("./completion.ts") },
  { name: "serve", summary: "Start the server", load: () => import("./serve-command.ts") },
  { name: "generate-key", summary: "Print a new encryption key; store it separately from the database", load: () => import("./generate-key.ts") },
  { name: "key", summary: "Seal the encryption key for a recovery, recover it, and test the recovery", load: () => import("./key-command.ts") },
  { name: "account", summary: "List, suspend, resume and delete accounts", load: () => import("./account-command.ts") },
  { name: "audit", summary: "Verify and archive audit logs", load: () => import("./audit-command.ts") },
  { name: "authenticate-rows", summary: "Authenticate the accounts, identities and tokens of a database from an older version, once", load: () => import("./authenticate-rows-command.ts") },
];
