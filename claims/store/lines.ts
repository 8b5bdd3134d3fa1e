/**
 * @module
 * The claims about the model store and transfers: pulls survive kills, faults and corrupt responses; an existing
 * Ollama store works unchanged; hostile names, addresses and files do no harm; and pulls are as fast as curl.
 * Imported by `claims/all-lines.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const models = "apps/hearth/src/models";

/** Line numbers follow this order. */
const claims: readonly Claim[] = [
  {
    title: "A model pushed to Debian's docker-registry and pulled from it can chat",
    paths: ["conformance/transfers/push-and-pull.model.test.ts"],
  },
  {
    title:
      "A pull killed at any moment resumes where it stopped, and no model name refers to an unverified blob",
    paths: [`${models}/transfers/killed-pulls.integration.test.ts`],
  },
  {
    title: "Registry, network and disk faults end in success or a clear error, never in corrupt weights",
    paths: [`${models}/transfers/faulty-registry.integration.test.ts`],
  },
  {
    title: "A real Ollama store opens, and responses from it match Ollama's own except for a reviewed list",
    paths: [
      `${models}/recorded-store.integration.test.ts`,
      "apps/hearth/src/dialects/ollama/recorded-responses.model.test.ts",
      "packages/gguf/src/metadata/private-dialect.integration.test.ts",
      "packages/chat-templates/src/go-template/",
    ],
  },
  {
    title: "Hostile names and digests reach nothing outside the store, and valid ones are accepted",
    paths: [`${models}/hostile-names.integration.test.ts`],
  },
  {
    title:
      "Hostile addresses, redirects and token realms cause no forbidden connection, and legitimate ones work",
    paths: [`${models}/registry/outbound-addresses.integration.test.ts`],
  },
  {
    title: "The store stays consistent when any file-system call fails during a pull, create, delete or copy",
    paths: [`${models}/failing-calls.integration.test.ts`],
  },
  {
    title: "A pull from the local registry is as fast as curl with sha256sum",
    paths: ["bench/pull-against-curl.bench.test.ts"],
  },
  {
    title: "A thousand models are listed within 50 ms",
    paths: [`${models}/catalog.integration.test.ts`],
  },
  {
    title: "A model in three shards, pulled from a server like Hugging Face's, can chat",
    paths: ["conformance/transfers/sharded-model.model.test.ts"],
  },
  {
    title: "The official clients pull, push, create, copy and delete models, and cancel a pull midway",
    paths: [
      "conformance/ollama-npm.model.test.ts",
      "conformance/python/python-clients.model.test.ts",
      "conformance/raw/rows.model.test.ts",
    ],
  },
];

export const storeLines: readonly ShowLine[] = claimLines("store", claims, everything);
