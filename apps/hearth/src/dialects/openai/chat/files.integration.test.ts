import { readFile } from "node:fs/promises";
import type { FakeEngineScript } from "@hearth-and-keep/engine/testing";
import { expect, test } from "vitest";
import { openPdfReader } from "../../../documents/read-pdf.ts";
import { startTestServer, type TestServer, tiny } from "../../../test/start-test-server.ts";

const script: FakeEngineScript = () => [
  { do: "write", text: "Hello" },
  { do: "end", reason: "stop" },
];

const written = new URL(
  "../../../../../../packages/document-text/src/fixtures/written-by-reportlab.pdf",
  import.meta.url,
);

function fileOf(bytes: Buffer, mediaType: string, filename?: string): object {
  const file_data = `data:${mediaType};base64,${bytes.toString("base64")}`;
  return { type: "file", file: { file_data, ...(filename === undefined ? {} : { filename }) } };
}

async function send(server: TestServer, ...parts: readonly object[]): Promise<Response> {
  const content = [{ type: "text", text: "Read this" }, ...parts];
  return fetch(`${server.url}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content }] }),
  });
}

test("a PDF in a chat completion was an unsupported content type: its text reaches the model, or a sentence", async () => {
  await using documents = openPdfReader();
  await using server = await startTestServer({
    models: { m: tiny },
    script,
    limits: { contextTokens: 4096 },
    readPdf: documents.readPdf,
  });
  const pdf = fileOf(await readFile(written), "application/pdf", "report.pdf");
  const broken = fileOf(Buffer.from("%PDF-1.4 broken"), "application/pdf");
  const notes = fileOf(Buffer.from("Buy milk"), "text/plain", "notes.txt");
  expect((await send(server, pdf, broken, notes)).status).toBe(200);
  const { input } = server.requests[0] ?? {};
  expect(input?.type === "conversation" && input.conversation.messages[0]?.content).toMatch(
    /^Read this\nreport\.pdf:\nAnnual report.*\n\[A PDF is left out here, because it could not be read\]\nnotes\.txt:\nBuy milk$/su,
  );
});

test.each([
  [{ type: "file", file: { file_id: "file-1" } }, "messages.0.content.1.file.file_data"],
  [{ type: "file" }, "messages.0.content.1.file.file_data"],
  [{ type: "file", file: { file_data: "JVBERi0=" } }, "messages.0.content.1.file.file_data"],
  [fileOf(Buffer.from([0xff, 0xfe]), "text/plain"), "messages.0.content.1.file.file_data"],
])("a file without readable content is rejected with its field: %j", async (part, field) => {
  await using server = await startTestServer({ models: { m: tiny }, script });
  const response = await send(server, part);
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param: field } }]);
});
