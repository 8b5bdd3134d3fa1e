/**
 * @module
 * Pools of real engines behind Hearth: llama.cpp's own server, alone and in network namespaces, slowed, killed and
 * disconnected; two nodes behind a load balancer; and the commands of the documentation, run as they are written.
 * Namespaces, bridges, cgroups and processes are removed when a scope ends. Nothing imports it; `show` and CI run it as
 * tests.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import type { RemoteModel } from "../../apps/hearth/src/models/remote/engines-file.ts";
import { readEnginesFile } from "../../apps/hearth/src/models/remote/engines-file.ts";

/** The models of an engines file with this content. */
export async function readModels(toml: string): Promise<readonly RemoteModel[]> {
  await using folder = await makeTemporaryFolder("engines-file");
  const path = join(folder.path, "engines.toml");
  await writeFile(path, toml);
  return await readEnginesFile(path);
}

/** The value of a metric of one engine in the pool "four". */
export async function poolMetric(
  { url }: { readonly url: string },
  metric: string,
  label: string,
): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = new RegExp(
    `^hearth_pool_${metric}\\{model="four:latest",engine="${RegExp.escape(label)}"\\} (.+)$`,
    "mu",
  );
  return Number(line.exec(text)?.[1]);
}
