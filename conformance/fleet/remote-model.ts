/**
 * @module
 * Pools of real engines behind Hearth: llama.cpp's own server, alone and in network namespaces, slowed, killed and cut
 * off; two nodes behind a balancer; and the page of the documentation, typed as it stands.
 * Promises that namespaces, bridges, groups and processes are gone when a scope ends. Nothing imports it but `show`
 * and CI, which run it as tests.
 */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeTemporaryFolder } from "@hearth-and-keep/test-servers";
import type { RemoteModel } from "../../apps/hearth/src/models/remote/engines-file.ts";
import { readEnginesFile } from "../../apps/hearth/src/models/remote/engines-file.ts";

/** Models as the file of an operator names them. */
export async function readModels(toml: string): Promise<readonly RemoteModel[]> {
  await using folder = await makeTemporaryFolder("engines-file");
  const path = join(folder.path, "engines.toml");
  await writeFile(path, toml);
  return await readEnginesFile(path);
}

/** A figure of one engine of the pool "four", from the metrics. */
export async function poolFigure(
  { url }: { readonly url: string },
  figure: string,
  label: string,
): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = new RegExp(
    `^hearth_pool_${figure}\\{model="four:latest",engine="${RegExp.escape(label)}"\\} (.+)$`,
    "mu",
  );
  return Number(line.exec(text)?.[1]);
}
