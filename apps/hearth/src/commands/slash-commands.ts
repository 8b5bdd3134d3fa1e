import { callFailure } from "../server-client/call-failure.ts";
import type { ServerCaller } from "../server-client/call-server.ts";
import { showModel } from "../server-client/response-types.ts";
import type { PromptLine } from "../terminal/prompt-line.ts";
import { screen } from "../terminal/screen.ts";
import { wrapTo } from "../terminal/text-width.ts";
import { changeSetting, settings } from "./chat-settings.ts";
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
  load: { usage: "/load MODEL", meaning: "go on with another model, or with a saved chat", does: load },
  save: { usage: "/save NAME", meaning: "keep this chat and its settings as a model", does: save },
  clear: { usage: "/clear", meaning: "forget what was said", does: clear },
  bye: { usage: "/bye", meaning: "leave, as Ctrl-D does", does: () => "leave" },
  exit: { usage: "", meaning: "", does: () => "leave" },
  "?": { usage: "/?", meaning: "this list", does: help },
  help: { usage: "", meaning: "", does: help },
};

export async function obey(text: string, parts: Parts): Promise<Outcome> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([\s\S]*)$/u.exec(text.trimEnd()) ?? [];
  if (!Object.hasOwn(words, name)) {
    tell(`There is no /${name}. /? tells what can be typed`);
    return "stay";
  }
  return (await words[name]?.does(rest, parts)) ?? "stay";
}

function help(rest: string): Outcome {
  if (/^\/?set$/u.test(rest)) {
    tabulate(settings);
    return "stay";
  }
  const shown = Object.values(words).filter(({ usage }) => usage !== "");
  tabulate(shown.map(({ usage, meaning }) => [usage, meaning]));
  tabulate([
    ['"""', "begins a text of several lines, and ends it"],
    ["Ctrl-C", "stops the answer; twice at the prompt leaves"],
  ]);
  return "stay";
}

function tell(sentence: string): void {
  for (const line of wrapTo(sentence, screen.columns() - 1)) screen.line(line);
}

const narrowColumns = 60;

/** Two columns; in a narrow window one below the other. */
function tabulate(rows: readonly (readonly [usage: string, meaning: string])[]): void {
  const isNarrow = screen.columns() < narrowColumns;
  const indent = isNarrow ? 6 : 33;
  for (const [usage, meaning] of rows) {
    const [first = "", ...rest] = wrapTo(meaning, screen.columns() - 1 - indent);
    screen.line(isNarrow ? `  ${usage}` : `  ${usage.padEnd(indent - 2)}${first}`);
    for (const line of isNarrow ? [first, ...rest] : rest) screen.line(" ".repeat(indent) + line);
  }
}

function set(rest: string, parts: Parts): Outcome {
  const [, name = "", value = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(rest) ?? [];
  const said = changeSetting(name, value, parts);
  if (said === undefined) tabulate(settings);
  else tell(said);
  return "stay";
}

const shownParts = ["system", "parameters", "template", "license", "modelfile"] as const;

function show(rest: string, { conversation }: Parts): Outcome {
  const { shown, system, parameters } = conversation;
  const part = shownParts.find((each) => each === rest);
  if (rest === "info") for (const line of describeShown(shown, screen)) screen.line(line);
  else if (part === undefined) tell("/show knows info, system, parameters, template, license and modelfile");
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
  conversation.images = [];
  return "load";
}

/** The server takes these messages in place of the model's own, so the own ones are said again before the new. */
async function save(rest: string, { server, conversation }: Parts): Promise<Outcome> {
  requireName(rest, "/save NAME");
  const { model, shown, system, parameters, messages } = conversation;
  const kept = [...(shown.messages ?? []), ...messages.map(({ role, content }) => ({ role, content }))];
  const body = {
    model: rest,
    from: model,
    ...(system === undefined ? {} : { system }),
    parameters,
    messages: kept,
  };
  const steps = server.stream("/api/create", body);
  while ((await steps.next()).done !== true);
  const hasImages = messages.some(({ images = [] }) => images.length > 0);
  // Under its own name, what was said here is the model's from now on, and must not be said twice.
  conversation.shown = await showModel(server, model);
  const isOwn = (conversation.shown.messages ?? []).length === kept.length;
  if (isOwn) conversation.messages = [];
  tell(`Saved; hearth run ${rest} goes on from here${hasImages ? ", without the pictures" : ""}`);
  return "stay";
}

function clear(_rest: string, { conversation }: Parts): Outcome {
  conversation.messages = [];
  conversation.images = [];
  const { messages = [] } = conversation.shown;
  tell(
    messages.length === 0
      ? "Forgotten; what is set stays"
      : `Forgotten; what is set stays, and so do the ${messages.length} messages that ${conversation.model} was saved with`,
  );
  return "stay";
}

function requireName(name: string, usage: string): void {
  if (!/^\S+$/u.test(name)) throw callFailure({ kind: "words-wrong", sentence: `Say ${usage}` });
}
