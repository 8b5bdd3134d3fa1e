import { createInterface } from "node:readline";

// A server of the Model Context Protocol on standard input and output with one tool. An agent starts it as a process.

type Call = { readonly id?: number | string; readonly method: string; readonly params?: object };

const forecast = {
  name: "forecast",
  description: "The wind and the waves of the next hours at a lighthouse",
  inputSchema: { type: "object", properties: { lighthouse: { type: "string" } }, required: ["lighthouse"] },
};

function respond({ method, params = {} }: Call): object {
  if (method === "tools/list") return { tools: [forecast] };
  if (method !== "initialize") return {};
  const protocolVersion = "protocolVersion" in params ? params.protocolVersion : "2025-06-18";
  const serverInfo = { name: "lighthouses", version: "1.0.0" };
  return { protocolVersion, capabilities: { tools: {} }, serverInfo };
}

for await (const line of createInterface({ input: process.stdin })) {
  // The protocol has one message per line.
  const call = JSON.parse(line) as Call;
  if (call.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: respond(call) })}\n`);
}
