/**
 * @module
 * The claims about engines over HTTP: llama.cpp's own server behind the same port as the binding, pools of engines
 * elsewhere, and Hearth in front of them. Benchmarks take all cores only where their line says so.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const upstream = "packages/upstream-engine/src";
const fleet = "conformance/fleet";

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title: "The engine suite of the binding holds for llama.cpp's own server, line by line",
    paths: [`${upstream}/llama-server/engine-suite.model.test.ts`],
  },
  {
    title: "The official clients of all three families work through this driver",
    paths: ["conformance/through-llama-server/clients.model.test.ts"],
  },
  {
    title:
      "Hearth's socket is nearly as fast as llama.cpp's own server, one, eight and 32 streams, all cores",
    paths: ["bench/socket-against-llama-server.bench.test.ts"],
  },
  {
    title: "Hearth adds at most 5 ms to the first token of llama.cpp's own server",
    paths: ["bench/first-token-against-llama-server.bench.test.ts"],
  },
  {
    title: "Killing the spawned engine and hanging up on it cost what they cost with the binding",
    paths: ["bench/llama-server-kills.bench.test.ts", "bench/llama-server-hang-up.bench.test.ts"],
  },
  {
    title: "A slow, a dead and a cut-off engine of four fail no request that had not begun",
    paths: [`${fleet}/four-engines.model.test.ts`],
  },
  {
    title: "A conversation goes where its prefix is cached",
    paths: [`${fleet}/prefix-affinity.model.test.ts`],
  },
  {
    title: "Two nodes behind a balancer behave as one while one is drained and restarted",
    paths: [`${fleet}/two-nodes.model.test.ts`],
  },
  {
    title: "Images come through all three families, and hostile ones harm nobody",
    paths: [
      "conformance/images/images.model.test.ts",
      "conformance/images/hostile-images.model.test.ts",
      "apps/hearth/src/images/fetch-image.integration.test.ts",
    ],
  },
  {
    title: "The fleet of the documentation stands when its commands are typed",
    paths: [`${fleet}/fleet-page.model.test.ts`],
  },
];

export const enginesLines: readonly ShowLine[] = claimLines("engines", claims, everything);
