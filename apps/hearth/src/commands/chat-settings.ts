import { readParameterText } from "../models/metadata/parameter-text.ts";
import type { PromptLine } from "../terminal/prompt-line.ts";
import type { Conversation } from "./conversation.ts";

type SettingParts = { readonly conversation: Conversation; readonly line: PromptLine };

/** Changes the chat, and says what is so from now on, or why it is not. */
type Change = (rest: string, parts: SettingParts) => string;

export const settings: readonly (readonly [usage: string, meaning: string])[] = [
  ["/set system TEXT", "what the model is told before everything else; without TEXT, its own again"],
  ["/set parameter NAME VALUE", "as in temperature 0.2, num_ctx 8192 or seed 7"],
  ["/set think [low|medium|high]", "think before answering; /set nothink does not"],
  ["/set think show", "show all of it; /set think fold shows one line"],
  ["/set format json", "answer in JSON; /set noformat as it likes"],
  ["/set verbose", "tokens per second after each answer; /set quiet does not"],
  ["/set nowordwrap", "answers as the model writes them; /set wordwrap draws them"],
  ["/set history", "keep typed lines for later; /set nohistory does not"],
];

/** Undefined for a word that changes nothing. */
export function changeSetting(name: string, value: string, parts: SettingParts): string | undefined {
  return Object.hasOwn(changes, name) ? changes[name]?.(value, parts) : undefined;
}

const changes: Readonly<Record<string, Change>> = {
  system: setSystem,
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
  wordwrap(_rest, { conversation }) {
    conversation.wrapsWords = true;
    return "Answers are drawn, and broken between words";
  },
  nowordwrap(_rest, { conversation }) {
    conversation.wrapsWords = false;
    return "Answers stand as the model writes them";
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

function setSystem(rest: string, { conversation }: SettingParts): string {
  const text = unquote(rest);
  if (text.trim() !== "") {
    conversation.system = text;
    return "The model is told this from now on";
  }
  conversation.system = undefined;
  return conversation.shown.system
    ? "The model is told its own system text again; /show system shows it"
    : "The model is told nothing beforehand";
}

function setParameter(rest: string, { conversation }: SettingParts): string {
  const [, name = "", value = ""] = /^(\S*)\s*([\s\S]*)$/u.exec(rest) ?? [];
  if (value === "") return "Say a name and a value, as in /set parameter temperature 0.2";
  const read = readParameterText(name, name === "stop" ? splitTexts(value) : [unquote(value)]);
  if ("reason" in read) return `Cannot set ${name} to ${value}: ${read.reason}`;
  if (read.isRetired) return `${name} changes nothing any more`;
  conversation.parameters[name] = read.value;
  return `${name} is ${value}`;
}

/** Words, and texts in quotes, which may have spaces in them. */
function splitTexts(text: string): readonly string[] {
  return [...text.matchAll(/"([^"]*)"|\S+/gu)].map(([word, inside]) => inside ?? word);
}

const levels = ["low", "medium", "high"];

function setThink(rest: string, { conversation }: SettingParts): string {
  if (rest === "show" || rest === "fold") {
    conversation.thinkingView = rest === "show" ? "shown" : "folded";
    return rest === "show" ? "Thinking is shown" : "Thinking is one line";
  }
  if (rest !== "" && !levels.includes(rest)) return "/set think knows low, medium, high, show and fold";
  conversation.think = rest === "" ? true : rest;
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
