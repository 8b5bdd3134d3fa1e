import { expect, test } from "vitest";
import { BodyError, createHttpService, type HttpRequest, jsonResponse, type MultipartForm } from "./index.ts";

const maxBodyBytes = 64 * 1024;

function describe({ body }: HttpRequest) {
  // The row has `body: "form"`.
  const { fields, files } = body as MultipartForm;
  const described = files.map(({ bytes, ...file }) => ({
    ...file,
    text: Buffer.from(bytes).toString("utf8"),
  }));
  return jsonResponse({ fields, files: described });
}

/** `/form` describes the form that it receives. */
async function startService() {
  const service = createHttpService({
    routes: [{ method: "POST", path: "/form", body: "form", handle: describe }],
    toErrorResponse: (error) =>
      jsonResponse({ error: error instanceof BodyError ? error.reason : "other" }, 400),
    dependencies: undefined,
    authenticate: () => undefined,
    recordRequest: () => undefined,
    maxBodyBytes,
  });
  const { url } = await service.listen({ host: "127.0.0.1", port: 0 });
  return { url: `${url}/form`, [Symbol.asyncDispose]: () => service.close(0.2) };
}

async function post(url: string, body: string | FormData, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, { method: "POST", body, headers });
  return response.json();
}

function formOf(entries: readonly (readonly [string, string | Blob, string?])[]): FormData {
  const form = new FormData();
  for (const [name, value, fileName] of entries) {
    if (typeof value === "string") form.append(name, value);
    else form.append(name, value, fileName);
  }
  return form;
}

test("a form has its fields and files in order, with bytes of any kind", async () => {
  await using service = await startService();
  const content = new Blob(["{}\r\n--no-boundary\r\n\u00e9"], { type: "application/jsonl" });
  const form = formOf([
    ["purpose", "batch"],
    ["file", content, 'a "b" \u00e9.jsonl'],
    ["purpose", "again"],
  ]);
  expect(await post(service.url, form)).toEqual({
    fields: [
      { name: "purpose", value: "batch" },
      { name: "purpose", value: "again" },
    ],
    files: [
      {
        name: "file",
        fileName: 'a "b" \u00e9.jsonl',
        contentType: "application/jsonl",
        text: "{}\r\n--no-boundary\r\n\u00e9",
      },
    ],
  });
});

test("boundaries of any form are understood, also short and quoted ones", async () => {
  await using service = await startService();
  for (const [written, boundary] of [
    ["boundary=x", "x"],
    ['charset=utf-8; boundary="a b"', "a b"],
    ["BOUNDARY=------------------------d74496d66958873e", "------------------------d74496d66958873e"],
  ] as const) {
    const body = `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--${boundary}--\r\n`;
    const form = await post(service.url, body, { "content-type": `multipart/form-data; ${written}` });
    expect(form).toEqual({ fields: [{ name: "purpose", value: "batch" }], files: [] });
  }
});

const valid = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n';
const type = "multipart/form-data; boundary=x";

test.for([
  ["JSON", "{}", "application/json", "not-a-form"],
  ["no type", valid, "", "not-a-form"],
  ["a type that is none", valid, ";;;", "not-a-form"],
  ["no boundary", valid, "multipart/form-data", "not-a-form"],
  ["another boundary", valid, "multipart/form-data; boundary=y", "not-a-form"],
  ["a form that ends early", valid.slice(0, -8), type, "not-a-form"],
  ["a part without a name", valid.replace(' name="a"', ""), type, "not-a-form"],
  ["an empty body", "", type, "missing"],
  ["too many parts", "--x\r\n".repeat(100), type, "too-complex"],
  ["too many bytes", "x".repeat(maxBodyBytes + 1), type, "too-large"],
] as const)("%s is rejected with its reason", async ([, body, contentType, reason]) => {
  await using service = await startService();
  expect(await post(service.url, body, { "content-type": contentType })).toEqual({ error: reason });
});

test("a compressed form is rejected", async () => {
  await using service = await startService();
  const headers = { "content-type": type, "content-encoding": "gzip" };
  expect(await post(service.url, valid, headers)).toEqual({ error: "encoding-not-supported" });
  expect(await post(service.url, valid, { "content-type": type })).toEqual({
    fields: [{ name: "a", value: "b" }],
    files: [],
  });
});
