import type { ServerFlags } from "../server-client/call-server.ts";
import { type RunningModel, runningModels } from "../server-client/response-types.ts";
import { tellAge, tellBytes } from "../terminal/measures.ts";
import { screen } from "../terminal/screen.ts";
import { drawTable } from "../terminal/table.ts";
import type { Define } from "./command-row.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

/** Dates farther away than this stand for "until it is stopped". */
const forEverMilliseconds = 50 * 365 * 86_400_000;

export const define: Define = (command) => {
  addServerFlags(command.option("--json", "as JSON, for programs")).action(
    (flags: ServerFlags & { readonly json?: boolean }) =>
      withServer(flags, async (server) => {
        const models = await runningModels(server);
        if (flags.json === true) screen.line(JSON.stringify({ models }, null, 2));
        else if (models.length === 0) screen.line("No model is in memory. Next: hearth run MODEL loads one");
        else {
          const names = ["NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "UNTIL"];
          const fit = { screen, least: ["ID", "CONTEXT", "PROCESSOR", "UNTIL", "SIZE"] };
          for (const line of drawTable(names, models.map(writeRow), fit)) screen.line(line);
        }
      }),
  );
};

function writeRow(model: RunningModel): readonly string[] {
  const until = new Date(model.expires_at);
  return [
    model.name,
    model.digest.slice(0, 12),
    tellBytes(model.size),
    tellProcessor(model),
    String(model.context_length ?? ""),
    until.getTime() - Date.now() > forEverMilliseconds ? "stopped" : tellAge(until),
  ];
}

function tellProcessor({ size, size_vram: onGpu }: RunningModel): string {
  if (onGpu === 0) return "100% CPU";
  if (onGpu >= size) return "100% GPU";
  const share = Math.round((100 * onGpu) / size);
  return `${100 - share}%/${share}% CPU/GPU`;
}
