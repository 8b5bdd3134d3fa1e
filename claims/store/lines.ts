/**
 * @module
 * The claims about the model store and transfers: pulls survive kills, faults and lies; an Ollama store is used as it
 * is; nothing hostile in a name, an address or a file gets anywhere; and it is as fast as curl.
 * Imported by `claims/main.ts`.
 */
import type { Need, ShowLine } from "../line.ts";
import { type Claim, claimLines } from "../prove-by-tests.ts";

const everything: readonly Need[] = ["debian packages", "python", "test models"];
const models = "apps/hearth/src/models";

/** In the order of their lines. */
const claims: readonly Claim[] = [
  {
    title: "A model pushed to Debian's docker-registry and pulled from it answers a chat",
    paths: ["conformance/transfers/push-and-pull.model.test.ts"],
  },
  {
    title: "A pull that is killed at any moment goes on where it was, and no name means an unverified blob",
    paths: [`${models}/transfers/killed-pulls.integration.test.ts`],
  },
  {
    title:
      "Whatever a registry, the network or the disk does wrong ends in success or a clear error, never in bad weights",
    paths: [`${models}/transfers/faulty-registry.integration.test.ts`],
  },
  {
    title: "A real Ollama's store opens, and the answers from it are those it gave, but for a reviewed list",
    paths: [
      `${models}/recorded-store.integration.test.ts`,
      "apps/hearth/src/dialects/ollama/recorded-responses.model.test.ts",
      "packages/gguf/src/metadata/private-dialect.integration.test.ts",
      "packages/chat-templates/src/go-template/",
    ],
  },
  {
    title: "Hostile names and digests reach nothing outside the store, and good ones are accepted",
    paths: [`${models}/hostile-names.integration.test.ts`],
  },
  {
    title:
      "Hostile addresses, redirects and token realms connect to nothing they should not, and good ones work",
    paths: [`${models}/registry/outbound-addresses.integration.test.ts`],
  },
  {
    title: "A store is consistent after any file-system call failed in a pull, create, delete or copy",
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
    title: "A model in three shards, pulled from a server like Hugging Face's, answers a chat",
    paths: ["conformance/transfers/sharded-model.model.test.ts"],
  },
  {
    title: "The official clients pull, push, create, copy and delete, and give up a pull in the middle",
    paths: [
      "conformance/ollama-npm.model.test.ts",
      "conformance/python/python-clients.model.test.ts",
      "conformance/raw/rows.model.test.ts",
    ],
  },
];

export const storeLines: readonly ShowLine[] = claimLines("store", claims, everything);
