export type Facts = {
  /** The server's own address, without a slash at its end. */
  readonly base: string;
  readonly model: string;
  /** What was pasted; it is put into the lines and kept nowhere. Without one its place is taken by a variable. */
  readonly key: string;
  /** Without keys on the server any text will do, and most clients insist on one. */
  readonly needsKey: boolean;
};

export type Client = {
  readonly id: string;
  readonly name: string;
  readonly language: "bash" | "javascript" | "python" | "yaml" | "text";
  /** What to have first. */
  readonly install?: string;
  /** One that has no way to send a key: the client that does the same, by its id. */
  readonly insteadWithKey?: string;
  readonly write: (facts: Facts) => string;
};

const variable = "HEARTH_API_KEY";
const anyKey = "hearth";
const hello = "Say hello in one sentence.";

/** As JavaScript and Python both write a text. */
function quote(text: string): string {
  return JSON.stringify(text);
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function shellKey({ key, needsKey }: Facts): string {
  if (key !== "") return shellQuote(key);
  return needsKey ? `"$${variable}"` : anyKey;
}

function scriptKey({ key, needsKey }: Facts): string {
  if (key !== "") return quote(key);
  return needsKey ? `process.env.${variable}` : quote(anyKey);
}

function pythonKey({ key, needsKey }: Facts): string {
  if (key !== "") return quote(key);
  return needsKey ? `os.environ["${variable}"]` : quote(anyKey);
}

function pythonHead({ key, needsKey }: Facts, ...lines: readonly string[]): string {
  return [...(needsKey && key === "" ? ["import os"] : []), ...lines, ""].join("\n");
}

function messages(): string {
  return `[{ role: "user", content: ${quote(hello)} }]`;
}

function pythonMessages(): string {
  return `[{"role": "user", "content": ${quote(hello)}}]`;
}

/** Programs of this family send the key as a header, when there is one. */
function ollamaHeaders(facts: Facts): string {
  return facts.needsKey || facts.key !== ""
    ? `, headers: { Authorization: \`Bearer \${${scriptKey(facts)}}\` }`
    : "";
}

export const clients: readonly Client[] = [
  {
    id: "curl",
    name: "curl",
    language: "bash",
    write: (facts) => {
      const fields = [`"model": ${quote(facts.model)}`, '"stream": false', `"messages": ${pythonMessages()}`];
      const body = `{\n  ${fields.join(",\n  ")}\n}`;
      const hasKey = facts.needsKey || facts.key !== "";
      const header = hasKey ? [`  -H "Authorization: Bearer "${shellKey(facts)} \\`] : [];
      return [`curl ${facts.base}/api/chat \\`, ...header, `  -d ${shellQuote(body)}`].join("\n");
    },
  },
  {
    id: "hearth",
    name: "hearth",
    language: "bash",
    write: (facts) =>
      [
        `export HEARTH_HOST=${facts.base}`,
        ...(facts.needsKey || facts.key !== "" ? [`export ${variable}=${shellKey(facts)}`] : []),
        `hearth run ${facts.model} ${shellQuote(hello)}`,
      ].join("\n"),
  },
  {
    id: "ollama",
    name: "Ollama command line",
    language: "bash",
    insteadWithKey: "hearth",
    write: (facts) => `export OLLAMA_HOST=${facts.base}\nollama run ${facts.model} ${shellQuote(hello)}`,
  },
  {
    id: "ollama-js",
    name: "Ollama for JavaScript",
    language: "javascript",
    install: "npm install ollama",
    write: (facts) => `import { Ollama } from "ollama";

const client = new Ollama({ host: ${quote(facts.base)}${ollamaHeaders(facts)} });
const answer = await client.chat({
  model: ${quote(facts.model)},
  messages: ${messages()},
});
console.log(answer.message.content);`,
  },
  {
    id: "ollama-python",
    name: "Ollama for Python",
    language: "python",
    install: "pip install ollama",
    write: (facts) => {
      const hasKey = facts.needsKey || facts.key !== "";
      const headers = hasKey ? `, headers={"Authorization": "Bearer " + ${pythonKey(facts)}}` : "";
      return `${pythonHead(facts, "from ollama import Client")}
client = Client(host=${quote(facts.base)}${headers})
answer = client.chat(
    model=${quote(facts.model)},
    messages=${pythonMessages()},
)
print(answer.message.content)`;
    },
  },
  {
    id: "openai-js",
    name: "OpenAI for JavaScript",
    language: "javascript",
    install: "npm install openai",
    write: (facts) => `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${quote(`${facts.base}/v1`)}, apiKey: ${scriptKey(facts)} });
const answer = await client.chat.completions.create({
  model: ${quote(facts.model)},
  messages: ${messages()},
});
console.log(answer.choices[0].message.content);`,
  },
  {
    id: "openai-python",
    name: "OpenAI for Python",
    language: "python",
    install: "pip install openai",
    write: (facts) => `${pythonHead(facts, "from openai import OpenAI")}
client = OpenAI(base_url=${quote(`${facts.base}/v1`)}, api_key=${pythonKey(facts)})
answer = client.chat.completions.create(
    model=${quote(facts.model)},
    messages=${pythonMessages()},
)
print(answer.choices[0].message.content)`,
  },
  {
    id: "anthropic-js",
    name: "Anthropic for JavaScript",
    language: "javascript",
    install: "npm install @anthropic-ai/sdk",
    write: (facts) => `import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({ baseURL: ${quote(`${facts.base}/alt`)}, apiKey: ${scriptKey(facts)} });
const answer = await client.messages.create({
  model: ${quote(facts.model)},
  max_tokens: 200,
  messages: ${messages()},
});
console.log(answer.content[0].text);`,
  },
  {
    id: "anthropic-python",
    name: "Anthropic for Python",
    language: "python",
    install: "pip install anthropic",
    write: (facts) => `${pythonHead(facts, "from anthropic import Anthropic")}
client = Anthropic(base_url=${quote(`${facts.base}/alt`)}, api_key=${pythonKey(facts)})
answer = client.messages.create(
    model=${quote(facts.model)},
    max_tokens=200,
    messages=${pythonMessages()},
)
print(answer.content[0].text)`,
  },
  {
    id: "vercel",
    name: "Vercel AI SDK",
    language: "javascript",
    install: "npm install ai @ai-sdk/openai-compatible",
    write: (facts) => `import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const hearth = createOpenAICompatible({
  name: "hearth",
  baseURL: ${quote(`${facts.base}/v1`)},
  apiKey: ${scriptKey(facts)},
});
const { text } = await generateText({ model: hearth(${quote(facts.model)}), prompt: ${quote(hello)} });
console.log(text);`,
  },
  {
    id: "langchain",
    name: "LangChain for JavaScript",
    language: "javascript",
    install: "npm install @langchain/openai",
    write: (facts) => `import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: ${quote(facts.model)},
  apiKey: ${scriptKey(facts)},
  configuration: { baseURL: ${quote(`${facts.base}/v1`)} },
});
const answer = await model.invoke(${quote(hello)});
console.log(answer.content);`,
  },
  {
    id: "claude-code",
    name: "Claude Code",
    language: "bash",
    write: (facts) =>
      [
        `export ANTHROPIC_BASE_URL=${facts.base}/alt`,
        `export ANTHROPIC_AUTH_TOKEN=${shellKey(facts)}`,
        `export ANTHROPIC_MODEL=${facts.model}`,
        `export ANTHROPIC_DEFAULT_HAIKU_MODEL=${facts.model}`,
        "claude",
      ].join("\n"),
  },
  {
    id: "continue",
    name: "Continue",
    language: "yaml",
    write: (facts) =>
      [
        "# ~/.continue/config.yaml",
        "name: Hearth",
        "version: 1.0.0",
        "schema: v1",
        "models:",
        `  - name: ${quote(`${facts.model} on Hearth`)}`,
        "    provider: openai",
        `    model: ${quote(facts.model)}`,
        `    apiBase: ${facts.base}/v1`,
        `    apiKey: ${facts.key === "" ? (facts.needsKey ? `\${{ secrets.${variable} }}` : anyKey) : quote(facts.key)}`,
      ].join("\n"),
  },
  {
    id: "open-webui",
    name: "Open WebUI",
    language: "bash",
    write: (facts) =>
      [
        `export OPENAI_API_BASE_URL=${facts.base}/v1`,
        `export OPENAI_API_KEY=${shellKey(facts)}`,
        "open-webui serve",
      ].join("\n"),
  },
];
