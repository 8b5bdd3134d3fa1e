import { callFailure } from "../calling/call-failure.ts";
import type { ServerCaller } from "../calling/call-server.ts";
import { showModel } from "../calling/server-answers.ts";
import type { PromptLine } from "../terminal/prompt-line.ts";
import { screen } from "../terminal/screen.ts";
import { wrapTo } from "../terminal/text-width.ts";
import type { Conversation } from "./conversation.ts";
import { describeShown, tellPart } from "./show.ts";

export type Outcome = "stay" | "leave" | "load";

type Parts = {
  readonly server: ServerCaller;
  readonly conversation: Conversation;
  readonly line: PromptLine;
};

type Word = {
  readonly usage: string;
  readonly meaning: string;
  readonly does: (rest: string, parts: Parts) => Promise<Outcome> | Outcome;
};

/** What can be typed in a chat besides what the model is to read. */
const words: Readonly<Record<string, Word>> = {
  set: { usage: "/set …", meaning: "change the chat; /set alone tells what", does: set },
  show: { usage: "/show …", meaning: "info, system, parameters, template, license or modelfile", does: show },
  load: { usage: "/load MODEL", meaning: "go on with another model, from the start", does: load },
  save: { usage: "/save NAME", meaning: "keep this chat and its settings as a model", does: save },
  clear: { usage: "/clear", meaning: "forget what was said", does: clear },
  bye: { usage: "/bye", meaning: "leave, as Ctrl-D does", does: () => "leave" },
  exit: { usage: "", meaning: "", does: () => "leave" },
  "?": { usage: "/?", meaning: "this list", does: help },
  help: { usage: "", meaning: "", does: help },
};

const settings: readonly (readonly [usage: string, meaning: string])[] = [
  ["/set system TEXT", "what the model is told before everything else"],
  ["/set parameter NAME VALUE", "as in temperature 0.2, num_ctx 8192 or seed 7"],
  ["/set think [low|medium|high]", "think before answering; /set nothink does not"],
  ["/set think show", "show all of it; /set think fold shows one line"],
  ["/set format json", "answer in JSON; /set noformat as it likes"],
  ["/set verbose", "tokens per second after each answer; /set quiet does not"],
  ["/set history", "keep typed lines for later; /set nohistory does not"],
];

export async function obey(text: string, parts: Parts): Promise<Outcome> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/u.exec(text.trimEnd()) ?? [];
  if (!Object.hasOwn(words, name)) {
    screen.line(`There is no /${name}. /? tells what can be typed`);
    return "stay";
  }
  return (await words[name]?.does(rest, parts)) ?? "stay";
}

function help(): Outcome {
  const shown = Object.values(words).filter(({ usage }) => usage !== "");
  tabulate(shown.map(({ usage, meaning }) => [usage, meaning]));
  tabulate([
    ['"""', "begins a text of several lines, and ends it"],
    ["Ctrl-C", "stops the answer; twice at the prompt leaves"],
  ]);
  return "stay";
}

function tabulate(rows: readonly (readonly [string, string])[]): void {
  const indent = 33;
  const room = Math.max(20, screen.columns() - 1 - indent);
  for (const [usage, meaning] of rows) {
    const [first = "", ...rest] = wrapTo(meaning, room);
    screen.line(`  ${usage.padEnd(indent - 2)}${first}`);
    for (const line of rest) screen.line(" ".repeat(indent) + line);
  }
}

type Change = (rest: string, parts: Parts) => string;

const changes: Readonly<Record<string, Change>> = {
  system(rest, { conversation }) {
    conversation.system = unquote(rest);
    return "The model is told this from now on";
  },
  parameter: setParameter,
  think: setThink,
  nothink(_rest, { conversation }) {
    conversation.think = false;
    return "It answers without thinking";
  },
  format(rest, { conversation }) {
    if (rest !== "json") return "/set format knows json alone; a schema goes with hearth run --format FILE";
    conversation.format = "json";
    return "It answers in JSON; tell it so in words, too";
  },
  noformat(_rest, { conversation }) {
    conversation.format = undefined;
    return "It answers as it likes";
  },
  verbose(_rest, { conversation }) {
    conversation.isVerbose = true;
    return "Speed is told after each answer";
  },
  quiet(_rest, { conversation }) {
    conversation.isVerbose = false;
    return "Speed is not told";
  },
  history(_rest, { line }) {
    line.keepsHistory = true;
    return "What is typed is kept for the next time";
  },
  nohistory(_rest, { line }) {
    line.keepsHistory = false;
    return "What is typed is not kept";
  },
};

function set(rest: string, parts: Parts): Outcome {
  const [, name = "", value = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(rest) ?? [];
  if (Object.hasOwn(changes, name)) screen.line(changes[name]?.(value, parts) ?? "");
  else tabulate(settings);
  return "stay";
}

function setParameter(rest: string, { conversation }: Parts): string {
  const [, name = "", value = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(rest) ?? [];
  if (value === "") return "Say a name and a value, as in /set parameter temperature 0.2";
  conversation.parameters[name] = name === "stop" ? value.split(/\s+/u).map(unquote) : readValue(value);
  return `${name} is ${value}`;
}

function readValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return Number.isFinite(Number(text)) ? Number(text) : unquote(text);
}

function setThink(rest: string, { conversation }: Parts): string {
  if (rest === "show" || rest === "fold") {
    conversation.thinkingView = rest === "show" ? "shown" : "folded";
    return rest === "show" ? "Thinking is shown" : "Thinking is one line";
  }
  conversation.think = ["low", "medium", "high"].includes(rest) ? rest : true;
  return "It thinks before it answers";
}

function unquote(text: string): string {
  return (
    /^(?:"""([\s\S]*)"""|"([\s\S]*)")$/u
      .exec(text)
      ?.slice(1)
      .find((part) => part !== undefined) ?? text
  );
}

const shownParts = ["system", "parameters", "template", "license", "modelfile"] as const;

function show(rest: string, { conversation }: Parts): Outcome {
  const { shown, system, parameters } = conversation;
  const part = shownParts.find((each) => each === rest);
  if (rest === "info") for (const line of describeShown(shown, screen)) screen.line(line);
  else if (part === undefined)
    screen.line("/show knows info, system, parameters, template, license and modelfile");
  else if (part === "system" && system !== undefined) screen.line(system);
  else screen.line(tellPart(shown, part));
  if (part === "parameters" && Object.keys(parameters).length > 0) {
    screen.line("set in this chat:");
    for (const [name, value] of Object.entries(parameters))
      screen.line(`  ${name.padEnd(20)} ${JSON.stringify(value)}`);
  }
  return "stay";
}

async function load(rest: string, { server, conversation }: Parts): Promise<Outcome> {
  requireName(rest, "/load MODEL");
  conversation.shown = await showModel(server, rest);
  conversation.model = rest;
  conversation.messages = [];
  return "load";
}

async function save(rest: string, { server, conversation }: Parts): Promise<Outcome> {
  requireName(rest, "/save NAME");
  const { model, system, parameters, messages } = conversation;
  const kept = messages.map(({ role, content }) => ({ role, content }));
  const body = {
    model: rest,
    from: model,
    ...(system === undefined ? {} : { system }),
    parameters,
    messages: kept,
  };
  const steps = server.stream("/api/create", body);
  while ((await steps.next()).done !== true);
  screen.line(`Saved; hearth run ${rest} goes on from here`);
  return "stay";
}

function clear(_rest: string, { conversation }: Parts): Outcome {
  conversation.messages = [];
  screen.line("Forgotten; what is set stays");
  return "stay";
}

function requireName(name: string, usage: string): void {
  if (!/^\S+$/u.test(name)) throw callFailure({ kind: "words-wrong", sentence: `Say ${usage}` });
}
