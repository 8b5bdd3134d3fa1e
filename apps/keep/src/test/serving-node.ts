import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";

export type ServingNode = OwnedProcess & { readonly url: string };

const program = fileURLToPath(new URL("../../bin/keep.js", import.meta.url));

/** Starts a Keep node as a separate process. */
export async function startServingNode(
  databaseUrl: string,
  key: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ServingNode> {
  const node = await startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--metrics-port", "0"],
    environment: {
      KEEP_DATABASE_URL: databaseUrl,
      KEEP_ENCRYPTION_KEY: key,
      KEEP_LOG_LEVEL: "error",
      ...environment,
    },
    readyWithinSeconds: 90,
    isReady: (output) => output.includes("Keep is listening on"),
  });
  return { ...node, url: /Keep is listening on (?<url>\S+)/u.exec(node.output())?.groups?.["url"] ?? "" };
}
