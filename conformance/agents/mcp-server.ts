import { createInterface } from "node:readline";

// A server of the Model Context Protocol on standard input and output, with one tool. Agents start it as a process.

type Call = { readonly id?: number | string; readonly method: string; readonly params?: object };

const tide = {
  name: "tide",
  description: "The next high tide of a harbour",
  inputSchema: { type: "object", properties: { harbour: { type: "string" } }, required: ["harbour"] },
};

function respond({ method, params = {} }: Call): object {
  const protocolVersion = "protocolVersion" in params ? params.protocolVersion : "2025-06-18";
  switch (method) {
    case "initialize":
      return {
        protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "harbours", version: "1.0.0" },
      };
    case "tools/list":
      return { tools: [tide] };
    case "tools/call":
      return { content: [{ type: "text", text: "High tide at 14:05" }] };
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  // The protocol has one message per line.
  const call = JSON.parse(line) as Call;
  if (call.id === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: call.id, result: respond(call) })}\n`);
}
