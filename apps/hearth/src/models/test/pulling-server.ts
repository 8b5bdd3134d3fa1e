import { fileURLToPath } from "node:url";
import { type OwnedProcess, startProcess } from "@hearth-and-keep/test-servers";

const program = fileURLToPath(new URL("../../../bin/hearth.js", import.meta.url));

/** A separate process, so that it can be killed, with its store in this folder and one registry to pull from. */
export function startServer(folder: string, registryPort: number): Promise<OwnedProcess> {
  return startProcess({
    command: process.execPath,
    arguments: [program, "serve", "--port", "0", "--models", folder].concat([
      "--private-registries",
      `127.0.0.1:${registryPort}`,
    ]),
    isReady: (output) => output.includes("Hearth is listening on"),
    readyWithinSeconds: 60,
  });
}

export function urlOf(server: OwnedProcess): string {
  return /Hearth is listening on (\S+)/u.exec(server.output())?.[1] ?? "";
}
