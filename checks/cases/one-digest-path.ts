import type { CheckCase } from "./check-case.ts";

export const oneDigestPath: CheckCase = {
  broken: {
    "apps/hearth/src/models/blob-store.ts": `
import { join } from "node:path";

export function pathOfBlob(root: string, digest: string): string {
  return join(root, "blobs", digest.replace(":", "-"));
}

export const blobsFolder = (root: string): string => join(root, "blobs");
`,
    "apps/hearth/src/models/pull.ts": `
import path from "node:path";

export async function pull(root: string, layer: { digest: string }): Promise<string> {
  return await Promise.resolve(\`\${root}/partial/\${layer.digest}\`);
}

export class Puller {
  pathFor(root: string, expectedDigest: string): string {
    return path.resolve(root, expectedDigest);
  }
}

export function remove(root: string, digest: string): string {
  return root + "/" + digest;
}

export function list(root: string, digest: string): string {
  return [root, digest].join("/");
}
`,
  },
  valid: {
    "apps/hearth/src/models/blob-store.test.ts": `
import { join } from "node:path";

export const expected = (digest: string): string => join("blobs", digest);
`,
    "apps/hearth/src/models/blob-store.ts": `
import { join } from "node:path";

export function pathOfBlob(root: string, digest: string): string {
  const folder = join(root, "blobs");
  const nameOf = (): string => \`sha256-\${digest}\`;
  return join(folder, nameOf());
}
`,
    "apps/hearth/src/models/registry-client.ts": `
import { join } from "node:path";
import { pathOfBlob } from "./blob-store.ts";

export function addressOf(origin: string, digest: string): string {
  return \`\${origin}/v2/library/blobs/\${digest}\`;
}

export function fail(digest: string): Error {
  return new Error(\`Cannot find the blob "\${digest}"\`);
}

export async function wait(digest: string): Promise<string> {
  return await new Promise((resolve) => resolve(digest));
}

export const path = pathOfBlob("models", "sha256:0");

export const manifestPath = (root: string, model: string): string => join(root, "manifests", model);

export const partialPath = (root: string, model: string): string => \`\${root}/partial/\${model}\`;

export function enter(rooms: Set<string>, digest: string): void {
  compare(digest, "blobs");
  rooms.add(digest);
  sessions.join(digest);
}

export const localAddress = (digest: string): string => \`/api/blobs/\${digest}\`;

export const remoteAddress = (digest: string, origin: URL): URL => new URL(\`blobs/\${digest}\`, origin);

export const mirror = (digest: string): string => \`https://models.example/\${digest}\`;

declare function compare(one: string, other: string): void;
declare const sessions: { join(digest: string): void };
`,
    "apps/hearth/src/models/registry/remote-manifest.ts":
      "export const targetOf = (digest: string): string => `manifests/${digest}`;",
    "apps/hearth/src/models/test/verify-store.ts": `
import { join } from "node:path";

export const blobPath = (store: string, digest: string): string => join(store, "blobs", digest);
`,
  },
  expected: [
    "apps/hearth/src/models/blob-store.ts:3",
    "apps/hearth/src/models/blob-store.ts:7",
    "apps/hearth/src/models/pull.ts:3",
    "apps/hearth/src/models/pull.ts:8",
    "apps/hearth/src/models/pull.ts:13",
    "apps/hearth/src/models/pull.ts:17",
  ],
};
