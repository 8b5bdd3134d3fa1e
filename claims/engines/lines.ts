/**
 * @module
 * The claims about engines over HTTP: llama.cpp's own server behind the same port as the binding, pools of remote
 * engines, and Hearth in front of them. Benchmarks use all cores only where their title says so.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const upstream = "packages/upstream-engine/src";
const fleet = "conformance/fleet";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title: "llama.cpp's own server passes the same engine test suite as the binding",
    paths: [`${upstream}/llama-server/engine-suite.model.test.ts`],
  },
  {
    title: "The official clients of all three APIs work through this driver",
    paths: ["conformance/through-llama-server/clients.model.test.ts"],
  },
  {
    title:
      "Hearth over HTTP is nearly as fast as llama.cpp's own server with one, eight and 32 streams on all cores",
    paths: ["bench/socket-against-llama-server.bench.test.ts"],
  },
  {
    title: "Hearth adds at most 5 ms to the first token of llama.cpp's own server",
    paths: ["bench/first-token-against-llama-server.bench.test.ts"],
  },
  {
    title: "Killing the spawned engine, or disconnecting from it, costs no more than with the binding",
    paths: ["bench/llama-server-kills.bench.test.ts", "bench/llama-server-cancelled-requests.bench.test.ts"],
  },
  {
    title:
      "With one slow, one dead and one disconnected engine out of four, no request fails before its output starts",
    paths: [`${fleet}/four-engines.model.test.ts`],
  },
  {
    title: "A conversation is routed to the engine that has its prefix cached",
    paths: [`${fleet}/prefix-affinity.model.test.ts`],
  },
  {
    title: "Two nodes behind a load balancer behave as one while one is drained and restarted",
    paths: [`${fleet}/two-nodes.model.test.ts`],
  },
  {
    title: "Images work through all three APIs, and hostile images do no harm",
    paths: [
      "conformance/images/images.model.test.ts",
      "conformance/images/hostile-images.model.test.ts",
      "apps/hearth/src/images/fetch-image.integration.test.ts",
    ],
  },
  {
    title: "The documented fleet runs when its commands are typed as written",
    paths: [`${fleet}/fleet-page.model.test.ts`],
  },
];

export const enginesLines: readonly ShowLine[] = claimLines("engines", claims, everything);
