import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createCatalog } from "../../models/catalog.ts";
import { openOwnStore } from "../../models/open-stores.ts";
import { formatBytes } from "../../terminal/format-units.ts";
import type { Finding } from "./check-machine.ts";

const topic = "Store";
const lowDiskBytes = 5e9;
const maxListedModels = 3;

/** Checks the folder, the free disk space and the stored models, read-only. */
export async function checkStore(models: string): Promise<readonly Finding[]> {
  const folder = resolve(models.replace(/^~(?=\/)/u, homedir()));
  const existing = await nearestExistingFolder(folder);
  if (!(await isWritable(existing))) {
    const advice = "choose another folder with --models or HEARTH_MODELS, or change its owner";
    return [{ topic, state: "error", text: `${models} is not writable`, advice }];
  }
  return [
    await checkDiskSpace(models, existing),
    ...(existing === folder ? await checkModels(models, folder) : []),
  ];
}

async function checkDiskSpace(models: string, folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${models}, ${formatBytes(free)} free`;
  if (free >= lowDiskBytes) return { topic, state: "ok", text };
  const advice = 'run "hearth prune" to remove unused files, or "hearth remove MODEL" to remove a model';
  return { topic, state: "warning", text, advice };
}

async function checkModels(models: string, folder: string): Promise<readonly Finding[]> {
  const { models: listed, errors } = await createCatalog([await openOwnStore(models, "read-only")]).list();
  const count = `${listed.length} ${listed.length === 1 ? "model" : "models"}`;
  const summary: Finding =
    listed.length === 0
      ? { topic, state: "warning", text: "No models yet", advice: 'run "hearth pull MODEL" to download one' }
      : { topic, state: "ok", text: `${count}, ${formatBytes(await blobBytes(folder))} of files` };
  const damaged = errors.slice(0, maxListedModels).map(
    ({ name, reason }): Finding => ({
      topic,
      state: "error",
      text: `${name || "A model"} is damaged: ${reason}`,
      advice: `run "hearth remove ${name}" and "hearth pull ${name}" to download it again`,
    }),
  );
  return [summary, ...damaged];
}

/** Counts files rather than models, because models share files. */
async function blobBytes(folder: string): Promise<number> {
  const blobs = join(folder, "blobs");
  const names = await readdir(blobs).catch(() => []);
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(blobs, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function nearestExistingFolder(folder: string): Promise<string> {
  for (let path = folder; ; path = dirname(path)) {
    const exists = await access(path).then(
      () => true,
      () => false,
    );
    if (exists || path === dirname(path)) return path;
  }
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}
