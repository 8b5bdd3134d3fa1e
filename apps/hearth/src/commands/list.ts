import { renderTable, screen } from "@hearth-and-keep/terminal";
import { listModels } from "../server-client/response-types.ts";
import type { ServerFlags } from "../server-client/server-client.ts";
import { formatBytes, formatRelativeTime } from "../terminal/format-units.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type ListFlags = ServerFlags & { readonly json?: boolean };

export const define: DefineCommand = (command) => {
  addServerFlags(
    command
      .argument("[prefix]", "list only models whose names start with this")
      .option("--json", "print JSON"),
  ).action((prefix: string | undefined, flags: ListFlags) =>
    withServer(flags, async (server) => {
      const models = (await listModels(server)).filter(({ name }) =>
        name.toLowerCase().startsWith((prefix ?? "").toLowerCase()),
      );
      if (flags.json === true) screen.writeLine(JSON.stringify({ models }, null, 2));
      else if (models.length === 0) screen.writeLine(emptyListMessage(prefix));
      else {
        const rows = models.map(({ name, digest, size, modified_at: modifiedAt }) => [
          name,
          digest.slice(0, 12),
          formatBytes(size),
          formatRelativeTime(new Date(modifiedAt)),
        ]);
        const options = { screen, dropOrder: ["ID", "MODIFIED", "SIZE"] };
        for (const line of renderTable(["NAME", "ID", "SIZE", "MODIFIED"], rows, options))
          screen.writeLine(line);
      }
    }),
  );
};

function emptyListMessage(prefix: string | undefined): string {
  return prefix === undefined
    ? 'No models yet. Download one with "hearth pull MODEL", e.g. "hearth pull qwen3:0.6b"'
    : `No model name starts with "${prefix}". List all models with "hearth list"`;
}
