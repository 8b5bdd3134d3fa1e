import type { GenerateRequest } from "@hearth-and-keep/engine";
import type { ScriptStep } from "@hearth-and-keep/engine/testing";
import { startTestServer, type TestServer, tiny } from "../../apps/hearth/src/test/start-test-server.ts";

const escape = "\u001B";

export const markdown = [
  "# Fruit\n\nSome are **sweet**, some are *sour*; `eat()` them.\n\n",
  "1. apple\n2. 苹果 and 🍎\n\n",
  "```js\nconst taste = 1;\n```\n\n",
  "| name | kg |\n|---|---|\n| plum | 2 |\n\n",
  "> See [the list](https://fruit.example/).\n",
];

/** What a question's first word makes the model say. */
const scripts: Readonly<Record<string, readonly ScriptStep[]>> = {
  hello: [say("Hello to you")],
  markdown: markdown.map(say),
  // Sets the window's title, clears the screen, turns the direction of reading.
  attack: [say(`${escape}]0;stolen\u0007${escape}[2Jred${escape}[31m and \u202Eesrever\r gone`)],
  think: [say("<think>One two "), pause(400), say("three four</think>"), say("42")],
  slow: Array.from({ length: 200 }, (_, index) => [say(`word${index} `), pause(40)]).flat(),
  steady: Array.from({ length: 60 }, (_, index) => [say(`part${index} `), pause(25)]).flat(),
  die: [{ do: "die", failure: { kind: "engine-died", exitCode: null, signal: "SIGSEGV" } }],
};

/** Answers at once or slowly, as the first word asks; what it does not know it says again. */
export function startScriptedChat(): Promise<TestServer> {
  return startTestServer({
    models: { tiny },
    description: { chatTemplate: "<think></think>" },
    script: (request) => {
      const text = lastWords(request);
      return [
        ...(text === "recite"
          ? [say(recite(request))]
          : (scripts[text.split(/\s/u)[0] ?? ""] ?? [say(`You said: ${text}`)])),
        { do: "end", reason: "stop" },
      ];
    },
  });
}

/** Everything that stands before the question, in order. */
function recite({ input }: GenerateRequest): string {
  if (input.type !== "conversation") return "";
  return input.conversation.messages.map(({ role, content }) => `${role}=${content}`).join("; ");
}

function lastWords({ input }: GenerateRequest): string {
  if (input.type !== "conversation") return "";
  const last = input.conversation.messages.at(-1);
  return last !== undefined && "content" in last ? (last.content ?? "") : "";
}

function say(text: string): ScriptStep {
  return { do: "say", text };
}

function pause(milliseconds: number): ScriptStep {
  return { do: "wait", milliseconds };
}
