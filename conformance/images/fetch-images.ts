import { once } from "node:events";
import { readFile, symlink } from "node:fs/promises";
import { createServer } from "node:https";
import { dirname, join } from "node:path";
import { makeTemporaryFolder, preparePython, testModel } from "@hearth-and-keep/test-servers";
import { drawPng } from "../../apps/hearth/src/images/test/draw-images.ts";
import { createFromFile } from "../../apps/hearth/src/models/create-from-file.ts";
import { serveFakeNames } from "../../apps/hearth/src/models/registry/test/fake-dns.ts";
import { openModelStore } from "../../apps/hearth/src/models/store/model-store.ts";
import { serveHearth } from "../terminal/run-hearth.ts";
import { promptTokensOf, send } from "./image-calls.ts";

/** The outcome of one image that a request references by URL. */
export type FetchedImage = {
  readonly path: string;
  readonly host: string;
  readonly status: number;
  /** Prompt tokens beyond those of the same request without an image. */
  readonly tokens: number;
  readonly text: string;
  /** Hosts that received a request meanwhile. */
  readonly asked: readonly string[];
};

const allowed = "images.test.example";
const hosts = {
  [allowed]: "203.0.114.10",
  "elsewhere.test.example": "203.0.114.20",
  // A listed host whose name resolves to a private address.
  "private.test.example": "10.0.0.5",
};
const fixtures = new URL("../../apps/hearth/src/models/registry/fixtures/", import.meta.url);
const textPart = { type: "text", text: "What do you see?" } as const;

/** The request body for every endpoint that accepts an image URL, by path. */
const requestBodies: Readonly<
  Record<string, (url: string | undefined) => Readonly<Record<string, unknown>>>
> = {
  "/v1/chat/completions": (url) => {
    const images = url === undefined ? [] : [{ type: "image_url", image_url: { url } }];
    return { messages: [{ role: "user", content: [...images, textPart] }], max_tokens: 3 };
  },
  "/v1/responses": (url) => {
    const images = url === undefined ? [] : [{ type: "input_image", detail: "auto", image_url: url }];
    const content = [...images, { type: "input_text", text: textPart.text }];
    return { input: [{ role: "user", content }], max_output_tokens: 16 };
  },
  "/alt/v1/messages": (url) => {
    const images = url === undefined ? [] : [{ type: "image", source: { type: "url", url } }];
    return { messages: [{ role: "user", content: [...images, textPart] }], max_tokens: 3 };
  },
};

/**
 * Runs the program with a vision model and two allowed hosts, in a network where every address is this machine. Prints
 * the outcome of an image from each host through each endpoint.
 */
async function fetchImages(): Promise<void> {
  await using stack = new AsyncDisposableStack();
  stack.use(
    await serveFakeNames(new Map(Object.entries(hosts).map(([name, address]) => [name, [[address]]]))),
  );
  const requestedHosts: string[] = [];
  const image = drawPng({ width: 80, height: 60 });
  const server = createServer({
    key: await readFile(new URL("fake-internet-key.pem", fixtures)),
    cert: await readFile(new URL("fake-internet-certificate.pem", fixtures)),
  });
  server.on("request", (request, response) => {
    requestedHosts.push(request.headers.host ?? "");
    response.writeHead(200, { "content-type": "image/png" }).end(image);
  });
  server.listen(443, "::");
  await once(server, "listening");
  stack.defer(() => server.close().closeAllConnections());
  const hearth = stack.use(await serveVisionModel(stack));
  const results: FetchedImage[] = [];
  for (const [path, body] of Object.entries(requestBodies)) {
    const model = { model: "seeing" };
    const without = promptTokensOf(await send(hearth, path, { ...model, ...body(undefined) })) ?? 0;
    for (const host of Object.keys(hosts)) {
      const response = await send(hearth, path, { ...model, ...body(`https://${host}/a.png`) });
      const tokens = (promptTokensOf(response) ?? without) - without;
      const { status, text } = response;
      results.push({ path, host, status, tokens, text, asked: requestedHosts.splice(0) });
    }
  }
  process.stdout.write(JSON.stringify(results));
}

async function serveVisionModel(stack: AsyncDisposableStack): ReturnType<typeof serveHearth> {
  const models = stack.use(await makeTemporaryFolder("models"));
  await createFromFile([await openModelStore(models.path, "own")], {
    name: "seeing",
    file: await testModel("tiny-llama.gguf"),
    projector: await testModel("tiny-projector.gguf"),
  });
  const engines = stack.use(await makeTemporaryFolder("engines"));
  const { interpreter } = await preparePython();
  await symlink(dirname(dirname(interpreter)), join(engines.path, "xllamacpp-1.0"));
  return serveHearth(["--image-hosts", `${allowed},private.test.example`], {
    HOME: models.path,
    HEARTH_MODELS: models.path,
    HEARTH_ENGINE: "xllamacpp",
    HEARTH_ENGINES_FOLDER: engines.path,
    HEARTH_CONTEXT_LENGTH: "1024",
    // The CA certificate of the fake internet.
    NODE_EXTRA_CA_CERTS: new URL("fake-internet-certificate.pem", fixtures).pathname,
  });
}

await fetchImages();
