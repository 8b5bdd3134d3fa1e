/** What the snippets contain. */
export type SnippetContext = {
  /** The server's URL, without a trailing slash. */
  readonly baseUrl: string;
  readonly model: string;
  /** The key that the user pasted, never stored; empty to read it from an environment variable. */
  readonly key: string;
  /** Servers without keys accept any text, which most clients insist on sending. */
  readonly needsKey: boolean;
};

export type Client = {
  readonly id: string;
  readonly name: string;
  readonly language: "bash" | "javascript" | "python";
  /** The command that installs it. */
  readonly install?: string;
  /** Set on a client that cannot send a key: the id of an equivalent that can. */
  readonly alternativeWithKey?: string;
  readonly render: (context: SnippetContext) => string;
};

const variable = "HEARTH_API_KEY";
const anyKey = "hearth";
const prompt = "Say hello in one sentence.";

/** A string literal of JavaScript and of Python. */
function quote(text: string): string {
  return JSON.stringify(text);
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function shellKey({ key, needsKey }: SnippetContext): string {
  if (key !== "") return shellQuote(key);
  return needsKey ? `"$${variable}"` : anyKey;
}

function authorizationHeader({ key }: SnippetContext): string {
  return key === "" ? `"Authorization: Bearer $${variable}"` : shellQuote(`Authorization: Bearer ${key}`);
}

function javascriptKey({ key, needsKey }: SnippetContext): string {
  if (key !== "") return quote(key);
  return needsKey ? `process.env.${variable}` : quote(anyKey);
}

function pythonKey({ key, needsKey }: SnippetContext): string {
  if (key !== "") return quote(key);
  return needsKey ? `os.environ["${variable}"]` : quote(anyKey);
}

function pythonImports({ key, needsKey }: SnippetContext, ...lines: readonly string[]): string {
  return [...(needsKey && key === "" ? ["import os"] : []), ...lines, ""].join("\n");
}

function messages(): string {
  return `[{ role: "user", content: ${quote(prompt)} }]`;
}

function pythonMessages(): string {
  return `[{"role": "user", "content": ${quote(prompt)}}]`;
}

/** The Ollama client has no option for a key, so it is set as a header. */
function ollamaHeaders(context: SnippetContext): string {
  return context.needsKey || context.key !== ""
    ? `, headers: { Authorization: \`Bearer \${${javascriptKey(context)}}\` }`
    : "";
}

export const clients: readonly Client[] = [
  {
    id: "curl",
    name: "curl",
    language: "bash",
    render: (context) => {
      const fields = [
        `"model": ${quote(context.model)}`,
        '"stream": false',
        `"messages": ${pythonMessages()}`,
      ];
      const body = `{\n  ${fields.join(",\n  ")}\n}`;
      const hasKey = context.needsKey || context.key !== "";
      const header = hasKey ? [`  -H ${authorizationHeader(context)} \\`] : [];
      return [`curl ${context.baseUrl}/api/chat \\`, ...header, `  -d ${shellQuote(body)}`].join("\n");
    },
  },
  {
    id: "hearth",
    name: "hearth",
    language: "bash",
    render: (context) =>
      [
        `export HEARTH_HOST=${context.baseUrl}`,
        ...(context.needsKey || context.key !== ""
          ? [`export ${variable}=${shellQuote(context.key || "YOUR-KEY")}`]
          : []),
        `hearth run ${context.model} ${shellQuote(prompt)}`,
      ].join("\n"),
  },
  {
    id: "ollama",
    name: "Ollama command line",
    language: "bash",
    alternativeWithKey: "hearth",
    render: (context) =>
      `export OLLAMA_HOST=${context.baseUrl}\nollama run ${context.model} ${shellQuote(prompt)}`,
  },
  {
    id: "ollama-js",
    name: "Ollama for JavaScript",
    language: "javascript",
    install: "npm install ollama",
    render: (context) => `import { Ollama } from "ollama";

const client = new Ollama({ host: ${quote(context.baseUrl)}${ollamaHeaders(context)} });
const response = await client.chat({
  model: ${quote(context.model)},
  messages: ${messages()},
});
console.log(response.message.content);`,
  },
  {
    id: "ollama-python",
    name: "Ollama for Python",
    language: "python",
    install: "pip install ollama",
    render: (context) => {
      const hasKey = context.needsKey || context.key !== "";
      const headers = hasKey ? `, headers={"Authorization": "Bearer " + ${pythonKey(context)}}` : "";
      return `${pythonImports(context, "from ollama import Client")}
client = Client(host=${quote(context.baseUrl)}${headers})
response = client.chat(
    model=${quote(context.model)},
    messages=${pythonMessages()},
)
print(response.message.content)`;
    },
  },
  {
    id: "openai-js",
    name: "OpenAI for JavaScript",
    language: "javascript",
    install: "npm install openai",
    render: (context) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${quote(`${context.baseUrl}/v1`)}, apiKey: ${javascriptKey(context)} });
const response = await client.chat.completions.create({
  model: ${quote(context.model)},
  messages: ${messages()},
});
console.log(response.choices[0].message.content);`,
  },
  {
    id: "openai-python",
    name: "OpenAI for Python",
    language: "python",
    install: "pip install openai",
    render: (context) => `${pythonImports(context, "from openai import OpenAI")}
client = OpenAI(base_url=${quote(`${context.baseUrl}/v1`)}, api_key=${pythonKey(context)})
response = client.chat.completions.create(
    model=${quote(context.model)},
    messages=${pythonMessages()},
)
print(response.choices[0].message.content)`,
  },
  {
    id: "anthropic-js",
    name: "Anthropic for JavaScript",
    language: "javascript",
    install: "npm install @anthropic-ai/sdk",
    render: (context) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: ${quote(`${context.baseUrl}/alt`)}, apiKey: ${javascriptKey(context)} });
const response = await client.messages.create({
  model: ${quote(context.model)},
  max_tokens: 200,
  messages: ${messages()},
});
console.log(response.content[0].text);`,
  },
  {
    id: "anthropic-python",
    name: "Anthropic for Python",
    language: "python",
    install: "pip install anthropic",
    render: (context) => `${pythonImports(context, "from anthropic import Anthropic")}
client = Anthropic(base_url=${quote(`${context.baseUrl}/alt`)}, api_key=${pythonKey(context)})
response = client.messages.create(
    model=${quote(context.model)},
    max_tokens=200,
    messages=${pythonMessages()},
)
print(response.content[0].text)`,
  },
  {
    id: "vercel",
    name: "Vercel AI SDK",
    language: "javascript",
    install: "npm install ai @ai-sdk/openai-compatible",
    render: (context) => `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const hearth = createOpenAICompatible({
  name: "hearth",
  baseURL: ${quote(`${context.baseUrl}/v1`)},
  apiKey: ${javascriptKey(context)},
});
const { text } = await generateText({ model: hearth(${quote(context.model)}), prompt: ${quote(prompt)} });
console.log(text);`,
  },
  {
    id: "langchain",
    name: "LangChain for JavaScript",
    language: "javascript",
    install: "npm install @langchain/openai",
    render: (context) => `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: ${quote(context.model)},
  apiKey: ${javascriptKey(context)},
  configuration: { baseURL: ${quote(`${context.baseUrl}/v1`)} },
});
const response = await model.invoke(${quote(prompt)});
console.log(response.content);`,
  },
  {
    id: "open-webui",
    name: "Open WebUI",
    language: "bash",
    render: (context) =>
      [
        `export OPENAI_API_BASE_URL=${context.baseUrl}/v1`,
        `export OPENAI_API_KEY=${shellKey(context)}`,
        "open-webui serve",
      ].join("\n"),
  },
];
