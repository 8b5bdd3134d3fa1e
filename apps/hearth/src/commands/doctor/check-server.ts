import { CallError } from "../../server-client/call-failure.ts";
import { listModels, listRunningModels } from "../../server-client/response-types.ts";
import type { ServerAddress } from "../../server-client/server-address.ts";
import type { ServerClient } from "../../server-client/server-client.ts";
import { formatCallFailure } from "../../terminal/format-error.ts";
import type { Finding } from "./check-machine.ts";

const topic = "Server";

/** Checks what listens at the address that commands use: Hearth, Ollama, another program or nothing. */
export async function checkServer(server: ServerClient): Promise<readonly Finding[]> {
  const { url, isLocal, port } = server.address;
  try {
    await server.request("/api/version", undefined, { idleSeconds: 5 });
    const name = await identifyServer(server);
    const [listed, running] = [await listModels(server), await listRunningModels(server)];
    const text = `${name} is running at ${url} with ${listed.length} models, ${running.length} loaded`;
    if (name === "Hearth") return [{ topic, state: "ok", text }];
    const advice =
      'commands work with it; to use Hearth instead, stop Ollama or run "hearth serve --port 11435"';
    return [{ topic, state: "warning", text, advice }];
  } catch (error) {
    if (!(error instanceof CallError)) throw error;
    if (error.failure.kind !== "server-unreachable" || !isLocal) return [failureFinding(error)];
    if (!error.failure.isFree) return [portInUseFinding(server.address, error.failure.reason)];
    const advice =
      'start one in the background with "hearth run MODEL", or in the foreground with "hearth serve"';
    return [{ topic, state: "warning", text: `Not running; port ${port} is free`, advice }];
  }
}

/** Only Hearth serves an OpenAPI document. */
async function identifyServer(server: ServerClient): Promise<"Hearth" | "Ollama"> {
  try {
    await server.request("/openapi/ollama.json");
    return "Hearth";
  } catch (error) {
    if (error instanceof CallError) return "Ollama";
    throw error;
  }
}

/** Another program has the port, but does not respond to HTTP. */
function portInUseFinding({ port, url }: ServerAddress, reason: string): Finding {
  const text = `Port ${port} is in use, but ${url} does not respond as a server: ${reason}`;
  const advice = "stop the program that uses it, or set HEARTH_PORT to another port";
  return { topic, state: "error", text, advice };
}

function failureFinding({ failure }: CallError): Finding {
  const { messages, nextSteps } = formatCallFailure(failure);
  return { topic, state: "error", text: messages.join("; "), advice: nextSteps.join("; ") };
}
