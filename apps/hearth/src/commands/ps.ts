import { renderTable, sanitizeLine, screen } from "@hearth-and-keep/terminal";
import { listRunningModels, type RunningModel } from "../server-client/response-types.ts";
import type { ServerFlags } from "../server-client/server-client.ts";
import { formatBytes, formatRelativeTime } from "../terminal/format-units.ts";
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
          for (const line of renderModels(models)) screen.writeLine(line);
          for (const line of describeSharing(models)) screen.writeLine(line);
          for (const line of describeGpuFailures(models)) screen.writeLine(line);
          for (const line of describeProtections(models)) screen.writeLine(line);
        }
      }),
  );
};

/** A table with the parts of the size is wider than most terminals, and would shorten the other columns. */
const minColumnsForParts = 120;

function renderModels(models: readonly RunningModel[]): readonly string[] {
  const hasParts = !screen.isTerminal || screen.columns() >= minColumnsForParts;
  const parts = hasParts ? ["WEIGHTS", "CACHE", "IN USE", "PEAK"] : [];
  const headers = ["NAME", "ID", "SIZE", ...parts, "PROCESSOR", "CONTEXT", "EXPIRES"];
  const dropOrder = [...parts, "ID", "CONTEXT", "PROCESSOR", "EXPIRES", "SIZE"];
  const rows = models.map((model) => renderRow(model, hasParts));
  return renderTable(headers, rows, { screen, dropOrder });
}

function renderRow(model: RunningModel, hasParts: boolean): readonly string[] {
  const expiry = new Date(model.expires_at);
  return [
    model.name,
    model.digest.slice(0, 12),
    formatBytes(model.size),
    ...(hasParts ? listParts(model).map(formatOptionalBytes) : []),
    formatProcessor(model),
    String(model.context_length ?? ""),
    expiry.getTime() - Date.now() > neverExpiresMilliseconds ? "never" : formatRelativeTime(expiry),
  ];
}

function listParts(model: RunningModel): readonly (number | undefined)[] {
  return [model.size_weights, model.size_cache, model.size_resident, model.size_peak];
}

/** A real Ollama reports none of these. */
function formatOptionalBytes(bytes: number | undefined): string {
  return bytes === undefined ? "" : formatBytes(bytes);
}

/** Each of them has the size of the one load that they use. */
function describeSharing(models: readonly RunningModel[]): readonly string[] {
  const groups = models.flatMap(({ name, shares_memory_with: others }) =>
    others === undefined ? [] : [name, ...others].toSorted().join(", "),
  );
  return [...new Set(groups)].map((group) => sanitizeLine(`Loaded once for ${group}`));
}

function describeGpuFailures(models: readonly RunningModel[]): readonly string[] {
  return models.flatMap(({ name, gpu_failure: reason }) =>
    reason === undefined ? [] : sanitizeLine(`${name} runs on the CPU, because the GPU failed: ${reason}`),
  );
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
