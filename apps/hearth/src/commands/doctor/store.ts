import { access, constants, readdir, stat, statfs } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createCatalog } from "../../models/catalog.ts";
import { openOwnStore } from "../../models/open-stores.ts";
import { tellBytes } from "../../terminal/measures.ts";
import type { Finding } from "./machine.ts";

const topic = "Store";
const scarceBytes = 5e9;
const mostNamed = 3;

/** The place, the room and what is in it, without touching anything. */
export async function lookAtStore(models: string): Promise<readonly Finding[]> {
  const folder = resolve(models.replace(/^~(?=\/)/u, homedir()));
  const existing = await nearestExisting(folder);
  if (!(await isWritable(existing))) {
    const advice = "choose another place with --models or HEARTH_MODELS, or change who owns this one";
    return [{ topic, state: "broken", text: `${models} cannot be written to`, advice }];
  }
  return [
    await lookAtRoom(models, existing),
    ...(existing === folder ? await lookAtModels(models, folder) : []),
  ];
}

async function lookAtRoom(models: string, folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `Models are in ${models}, with ${tellBytes(free)} free`;
  if (free >= scarceBytes) return { topic, state: "fine", text };
  const advice = "hearth prune frees what no model needs, hearth remove MODEL frees a model";
  return { topic, state: "note", text, advice };
}

async function lookAtModels(models: string, folder: string): Promise<readonly Finding[]> {
  const { models: listed, problems } = await createCatalog([await openOwnStore(models, "read-only")]).list();
  const count = `${listed.length} ${listed.length === 1 ? "model" : "models"}`;
  const whole: Finding =
    listed.length === 0
      ? { topic, state: "note", text: "It holds no model yet", advice: "hearth pull MODEL fetches one" }
      : {
          topic,
          state: "fine",
          text: `It holds ${count}; its files take ${tellBytes(await bytesIn(folder))}`,
        };
  const broken = problems.slice(0, mostNamed).map(
    ({ name, reason }): Finding => ({
      topic,
      state: "broken",
      text: `${name || "A model"} is damaged: ${reason}`,
      advice: `hearth remove ${name} and hearth pull ${name} fetch it anew`,
    }),
  );
  return [whole, ...broken];
}

/** By the files, because models share them. */
async function bytesIn(folder: string): Promise<number> {
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

async function nearestExisting(folder: string): Promise<string> {
  for (let place = folder; ; place = dirname(place)) {
    const exists = await access(place).then(
      () => true,
      () => false,
    );
    if (exists || place === dirname(place)) return place;
  }
}

function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK).then(
    () => true,
    () => false,
  );
}
