import type { EngineRequest } from "@hearth-and-keep/engine";
import type { FakeEngineStep } from "@hearth-and-keep/engine/testing";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const escape = "\u001B";

export const markdown = [
  "# Fruit\n\nSome are **sweet**, some are *sour*; `eat()` them.\n\n",
  "1. apple\n2. 苹果 and 🍎\n\n",
  "```js\nconst taste = 1;\n```\n\n",
  "| name | kg |\n|---|---|\n| plum | 2 |\n\n",
  "> See [the list](https://fruit.example/).\n",
];

/** The response to a message, by its first word. */
const scripts: Readonly<Record<string, readonly FakeEngineStep[]>> = {
  hello: [write("Hello to you")],
  markdown: markdown.map(write),
  // Sets the window title, clears the screen, and overrides the text direction.
  attack: [write(`${escape}]0;stolen\u0007${escape}[2Jred${escape}[31m and \u202Eesrever\r gone`)],
  think: [write("<think>One two "), pause(400), write("three four</think>"), write("42")],
  slow: Array.from({ length: 200 }, (_, index) => [write(`word${index} `), pause(40)]).flat(),
  steady: Array.from({ length: 60 }, (_, index) => [write(`part${index} `), pause(25)]).flat(),
  die: [{ do: "crash", failure: { kind: "engine-crashed", exitCode: null, signal: "SIGSEGV" } }],
};

/** Responds according to the first word of the message, and echoes a message it does not know. */
export function startFakeChat(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    description: { chatTemplate: "<think></think>" },
    script: (request) => {
      const text = lastMessage(request);
      return [
        ...(text === "recite"
          ? [write(recite(request))]
          : (scripts[text.split(/\s/u)[0] ?? ""] ?? [write(`You said: ${text}`)])),
        { do: "end", reason: "stop" },
      ];
    },
  });
}

/** All messages of the conversation, in order. */
function recite({ input }: EngineRequest): string {
  if (input.type !== "conversation") return "";
  return input.conversation.messages.map(({ role, content }) => `${role}=${content}`).join("; ");
}

function lastMessage({ input }: EngineRequest): string {
  if (input.type !== "conversation") return "";
  const last = input.conversation.messages.at(-1);
  return last !== undefined && "content" in last ? (last.content ?? "") : "";
}

function write(text: string): FakeEngineStep {
  return { do: "write", text };
}

function pause(milliseconds: number): FakeEngineStep {
  return { do: "wait", milliseconds };
}
