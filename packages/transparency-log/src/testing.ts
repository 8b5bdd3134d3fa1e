export { nodeSha256 } from "./test/node-sha256.ts";
export { seededRandom } from "./test/seeded-random.ts";
