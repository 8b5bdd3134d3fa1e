import { CallError } from "../../server-client/call-failure.ts";
import type { ServerCaller } from "../../server-client/call-server.ts";
import { listedModels, runningModels } from "../../server-client/response-types.ts";
import type { ServerAddress } from "../../server-client/server-address.ts";
import { explainCall } from "../../terminal/format-error.ts";
import type { Finding } from "./machine.ts";

const topic = "Server";

/** Who is at the address that commands call: a Hearth, an Ollama, somebody else or nobody. */
export async function lookAtServer(server: ServerCaller): Promise<readonly Finding[]> {
  const { url, isLocal, port } = server.address;
  try {
    await server.ask("/api/version", undefined, { idleSeconds: 5 });
    const name = await nameServer(server);
    const [listed, running] = [await listedModels(server), await runningModels(server)];
    const text = `${name} answers at ${url}, with ${listed.length} models, ${running.length} in memory`;
    if (name === "Hearth") return [{ topic, state: "fine", text }];
    const advice =
      "commands work with it; to have Hearth there, end the Ollama first, or hearth serve --port 11435";
    return [{ topic, state: "note", text, advice }];
  } catch (problem) {
    if (!(problem instanceof CallError)) throw problem;
    if (problem.failure.kind !== "server-unreachable" || !isLocal) return [tellProblem(problem)];
    if (!problem.failure.isFree) return [tellTaken(server.address, problem.failure.reason)];
    const advice = "hearth run MODEL starts one by itself, hearth serve keeps one in a terminal";
    return [{ topic, state: "note", text: `None runs; port ${port} is free for one`, advice }];
  }
}

/** Only Hearth has a page about its API. */
async function nameServer(server: ServerCaller): Promise<"Hearth" | "Ollama"> {
  try {
    await server.ask("/openapi/ollama.json");
    return "Hearth";
  } catch (problem) {
    if (problem instanceof CallError) return "Ollama";
    throw problem;
  }
}

/** Something has the port and does not speak as servers do. */
function tellTaken({ port, url }: ServerAddress, reason: string): Finding {
  const text = `Port ${port} is in use, and nothing at ${url} answers as a server does: ${reason}`;
  const advice = "end the program that uses it, or set HEARTH_PORT to another port";
  return { topic, state: "broken", text, advice };
}

function tellProblem({ failure }: CallError): Finding {
  const [text = "", next = ""] = explainCall(failure).sentences;
  return { topic, state: "broken", text, advice: next.replace(/^Next: /u, "") };
}
