import type { ServerFlags } from "../server-client/call-server.ts";
import { listedModels } from "../server-client/response-types.ts";
import { tellAge, tellBytes } from "../terminal/measures.ts";
import { screen } from "../terminal/screen.ts";
import { drawTable } from "../terminal/table.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

type ListFlags = ServerFlags & { readonly json?: boolean };

export const define: Define = (command) => {
  addServerFlags(
    command.argument("[start]", "only models whose names start so").option("--json", "as JSON, for programs"),
  ).action((start: string | undefined, flags: ListFlags) =>
    withServer(flags, async (server) => {
      const models = (await listedModels(server)).filter(({ name }) =>
        name.toLowerCase().startsWith((start ?? "").toLowerCase()),
      );
      if (flags.json === true) screen.line(JSON.stringify({ models }, null, 2));
      else if (models.length === 0) screen.line(tellNone(start));
      else {
        const rows = models.map(({ name, digest, size, modified_at: modifiedAt }) => [
          name,
          digest.slice(0, 12),
          tellBytes(size),
          tellAge(new Date(modifiedAt)),
        ]);
        const fit = { screen, least: ["ID", "MODIFIED", "SIZE"] };
        for (const line of drawTable(["NAME", "ID", "SIZE", "MODIFIED"], rows, fit)) screen.line(line);
      }
    }),
  );
};

function tellNone(start: string | undefined): string {
  return start === undefined
    ? "There is no model yet. Next: hearth pull MODEL fetches one, as in hearth pull qwen3:0.6b"
    : `No model's name starts with "${start}". Next: hearth list shows all`;
}
