/**
 * @module
 * APIs over HTTPS on loopback, and a program that attacks `keep run --agent` from inside its sandbox.
 * Imported by tests only.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createSessionAuthority } from "../certificates.ts";
import { reflections } from "./reflections.ts";

/** A request that contained one of the values. */
type Arrival = {
  readonly api: string;
  readonly host: string;
  readonly method: string;
  readonly path: string;
};

export type FakeApis = AsyncDisposable & {
  /** PEM of the authority that signed their certificates. */
  readonly certificate: string;
  /** `localhost` with the port of each. */
  readonly hosts: Readonly<Record<ApiName, string>>;
  readonly arrivals: readonly Arrival[];
  /** Requests of any kind. */
  readonly requestCount: (api: ApiName) => number;
};

export type ApiName = "github" | "openai" | "stripe" | "open" | "unnamed";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** `values` are those that must not arrive unnoticed. */
export async function startFakeApis(values: Readonly<Record<string, string>>): Promise<FakeApis> {
  const authority = await createSessionAuthority();
  const arrivals: Arrival[] = [];
  const counts = new Map<string, number>();
  const handlers: Readonly<Record<ApiName, Handler>> = {
    github: githubApi(values["GITHUB_TOKEN"] ?? ""),
    openai: openaiApi(values["OPENAI_API_KEY"] ?? ""),
    stripe: stripeApi(values["STRIPE_KEY"] ?? ""),
    open: reflections,
    unnamed: reflections,
  };
  const started = await Promise.all(
    // The keys of a literal are the names of its type.
    (Object.keys(handlers) as ApiName[]).map(async (api) => {
      const server = createServer({
        SNICallback: (_name, done) => done(null, authority.contextFor("localhost")),
      });
      server.on("request", (request, response) => {
        counts.set(api, (counts.get(api) ?? 0) + 1);
        const { host = "", ...headers } = request.headers;
        const path = request.url?.split("?")[0] ?? "";
        const method = request.method ?? "";
        if (Object.values(values).some((value) => contains(headers, value)))
          arrivals.push({ api, host, method, path });
        handlers[api](request, response);
      });
      server.on("tlsClientError", () => undefined);
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      // A listening server has an address.
      return { api, server, host: `localhost:${(server.address() as AddressInfo).port}` };
    }),
  );
  return {
    certificate: authority.certificate,
    // One for each name.
    hosts: Object.fromEntries(started.map(({ api, host }) => [api, host])) as FakeApis["hosts"],
    arrivals,
    requestCount: (api) => counts.get(api) ?? 0,
    async [Symbol.asyncDispose]() {
      for (const { server } of started) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

function contains(headers: object, value: string): boolean {
  const text = JSON.stringify(headers);
  const basic = /Basic ([A-Za-z0-9+/=]+)/u.exec(text)?.[1] ?? "";
  return (text + Buffer.from(basic, "base64").toString("utf8")).includes(value);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function githubApi(token: string): Handler {
  return (request, response) => {
    if (request.url !== "/user") return reflections(request, response);
    const isKnown = [`Bearer ${token}`, `token ${token}`].includes(request.headers.authorization ?? "");
    return sendJson(
      response,
      isKnown ? 200 : 401,
      isKnown ? { login: "octocat" } : { message: "Bad credentials" },
    );
  };
}

const answer = { role: "assistant", content: "Hello from the model" };

function openaiApi(key: string): Handler {
  return (request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`)
      return sendJson(response, 401, {
        error: { message: `Incorrect API key: ${request.headers.authorization}` },
      });
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { stream } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
      const common = { id: "1", created: 1, model: "fake" };
      if (stream !== true) {
        const choices = [{ index: 0, message: answer, finish_reason: "stop" }];
        return sendJson(response, 200, { ...common, object: "chat.completion", choices });
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of answer.content.split(/(?<= )/u)) {
        const choices = [{ index: 0, delta: { content }, finish_reason: null }];
        response.write(
          `data: ${JSON.stringify({ ...common, object: "chat.completion.chunk", choices })}\n\n`,
        );
      }
      return response.end("data: [DONE]\n\n");
    });
    return undefined;
  };
}

/** The key is the user of HTTP Basic authentication, or a bearer token. */
function stripeApi(key: string): Handler {
  return (request, response) => {
    const basic = Buffer.from(`${key}:`).toString("base64");
    const isKnown = [`Basic ${basic}`, `Bearer ${key}`].includes(request.headers.authorization ?? "");
    if (!isKnown || request.url !== "/v1/customers") return reflections(request, response);
    return sendJson(response, 200, { object: "list", data: [{ id: "cus_1" }] });
  };
}
