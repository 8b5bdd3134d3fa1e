import { listRunningModels, type RunningModel } from "../server-client/response-types.ts";
import type { ServerFlags } from "../server-client/server-client.ts";
import { formatBytes, formatRelativeTime } from "../terminal/format-units.ts";
import { sanitizeLine } from "../terminal/sanitize-text.ts";
import { screen } from "../terminal/screen.ts";
import { renderTable } from "../terminal/table.ts";
import type { DefineCommand } from "./command-entry.ts";
import { addServerFlags, withServer } from "./server-flags.ts";

/** The server reports an expiry in the far future for models that never expire. */
const neverExpiresMilliseconds = 50 * 365 * 86_400_000;

export const define: DefineCommand = (command) => {
  addServerFlags(command.option("--json", "print JSON")).action(
    (flags: ServerFlags & { readonly json?: boolean }) =>
      withServer(flags, async (server) => {
        const models = await listRunningModels(server);
        if (flags.json === true) screen.writeLine(JSON.stringify({ models }, null, 2));
        else if (models.length === 0) screen.writeLine('No models loaded. Load one with "hearth run MODEL"');
        else {
          const headers = ["NAME", "ID", "SIZE", "PROCESSOR", "CONTEXT", "EXPIRES"];
          const options = { screen, dropOrder: ["ID", "CONTEXT", "PROCESSOR", "EXPIRES", "SIZE"] };
          for (const line of renderTable(headers, models.map(renderRow), options)) screen.writeLine(line);
          for (const line of describeProtections(models)) screen.writeLine(line);
        }
      }),
  );
};

function renderRow(model: RunningModel): readonly string[] {
  const expiry = new Date(model.expires_at);
  return [
    model.name,
    model.digest.slice(0, 12),
    formatBytes(model.size),
    formatProcessor(model),
    String(model.context_length ?? ""),
    expiry.getTime() - Date.now() > neverExpiresMilliseconds ? "never" : formatRelativeTime(expiry),
  ];
}

/** One line for all models, or one per model if they differ. A real Ollama reports none. */
function describeProtections(models: readonly RunningModel[]): readonly string[] {
  const known = models.flatMap(({ name, protection }) =>
    protection === undefined ? [] : { name, protection },
  );
  const [first] = known;
  if (first === undefined) return [];
  const isSame = known.every(({ protection }) => protection === first.protection);
  if (isSame) return [`\nProtection: ${sanitizeLine(first.protection)}`];
  return ["", ...known.map((each) => sanitizeLine(`Protection of ${each.name}: ${each.protection}`))];
}

function formatProcessor({ size, size_vram: onGpu }: RunningModel): string {
  if (onGpu === 0) return "100% CPU";
  if (onGpu >= size) return "100% GPU";
  const share = Math.round((100 * onGpu) / size);
  return `${100 - share}%/${share}% CPU/GPU`;
}
