import { readFile } from "node:fs/promises";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { openPdfReader } from "../../../documents/read-pdf.ts";
import { messagesOf, startResponsesServer } from "./test/start-responses-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];

const written = new URL(
  "../../../../../../packages/document-text/src/fixtures/written-by-reportlab.pdf",
  import.meta.url,
);

function fileOf(bytes: Buffer): object {
  const url = `data:application/pdf;base64,${bytes.toString("base64")}`;
  return { type: "input_file", filename: "report.pdf", file_data: url };
}

test("a PDF in a message or a tool result ends an agent's run: its text reaches the model, or a sentence in its place", async () => {
  await using documents = openPdfReader();
  await using server = await startResponsesServer({ script, readPdf: documents.readPdf });
  const pdf = fileOf(await readFile(written));
  const response = await fetch(`${server.url}/v1/responses`, {
    method: "POST",
    body: JSON.stringify({
      model: "tiny",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Read this" }, pdf] },
        { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
        {
          type: "function_call_output",
          call_id: "c1",
          output: [pdf, fileOf(Buffer.from("%PDF-1.4 broken"))],
        },
      ],
    }),
  });
  expect(response.status).toBe(200);
  const [question, , result] = messagesOf(server.requests[0]);
  expect(question?.content).toMatch(/^Read this\nreport\.pdf:\n.*\w{3,}/su);
  expect(result?.content).toMatch(
    /report\.pdf:\n.*\[The file "report\.pdf" is left out here, because it could not be read\]$/su,
  );
});
