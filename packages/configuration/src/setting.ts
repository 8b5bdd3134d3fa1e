import { Hidden } from "@hearth-and-keep/logging";

/**
 * One thing a person can set. Its key in the declaration gives all its names:
 * `apiKey` is `--api-key`, `HEARTH_API_KEY` and `api_key` in the file.
 */
export type Setting<Value> = {
  /** What stands after the flag in the help text; absent for a switch that takes no value. */
  readonly placeholder?: string;
  readonly meaning: string;
  readonly fallback: Value;
  /** The fallback as the settings page shows it. */
  readonly fallbackText: string;
  readonly isSecret: boolean;
  /** In the file it may also be written as a list. */
  readonly isList?: boolean;
  /** Turns the text somebody wrote into a value; throws a Mistake that completes "--port …". */
  readonly parse: (text: string) => Value;
};

export class Mistake extends Error {}

const mostItemCharacters = 512;

export type Described = { readonly meaning: string; readonly placeholder: string };

export function textSetting<Fallback extends string | undefined>(
  described: Described & { readonly fallback: Fallback; readonly mostCharacters: number },
): Setting<string | Fallback> {
  return {
    ...described,
    fallbackText: described.fallback ?? "none",
    isSecret: false,
    parse: (text) => boundedText(text, described.mostCharacters),
  };
}

export function secretSetting(
  described: Described & { readonly mostCharacters: number },
): Setting<Hidden<string> | undefined> {
  return {
    ...described,
    fallback: undefined,
    fallbackText: "none",
    isSecret: true,
    parse: (text) => new Hidden(boundedText(text, described.mostCharacters)),
  };
}

/** Several short texts with commas between them; `check` says what is wrong with one of them. */
export function listSetting(
  described: Described & {
    readonly mostItems: number;
    readonly check?: (item: string) => string | undefined;
  },
): Setting<readonly string[]> {
  return {
    ...described,
    fallback: [],
    fallbackText: "none",
    isSecret: false,
    isList: true,
    parse: (text) => {
      const items = text.split(",").map((item) => boundedText(item.trim(), mostItemCharacters));
      if (items.length > described.mostItems) {
        throw new Mistake(`must have at most ${described.mostItems} entries`);
      }
      for (const item of items) {
        const mistake = described.check?.(item);
        if (mistake !== undefined) throw new Mistake(`has an entry that ${mistake}: "${item}"`);
      }
      return items;
    },
  };
}

export function wholeNumberSetting(
  described: Described & { readonly fallback: number; readonly least: number; readonly most: number },
): Setting<number> {
  const { least, most } = described;
  return {
    ...described,
    fallbackText: String(described.fallback),
    isSecret: false,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= least && value <= most)) {
        throw new Mistake(`must be a whole number from ${least} to ${most}, not "${text}"`);
      }
      return value;
    },
  };
}

export function choiceSetting<Choice extends string>(
  described: Described & { readonly fallback: Choice; readonly choices: readonly Choice[] },
): Setting<Choice> {
  return {
    ...described,
    fallbackText: described.fallback,
    isSecret: false,
    parse: (text) => {
      const choice = described.choices.find((each) => each === text);
      if (choice === undefined)
        throw new Mistake(`must be one of ${described.choices.join(", ")}, not "${text}"`);
      return choice;
    },
  };
}

/** A flag without a value; in the environment and the file it is written as yes or no. */
export function switchSetting(described: { readonly meaning: string }): Setting<boolean> {
  return {
    ...described,
    fallback: false,
    fallbackText: "no",
    isSecret: false,
    parse: (text) => {
      if (["yes", "true", "1"].includes(text)) return true;
      if (["no", "false", "0"].includes(text)) return false;
      throw new Mistake(`must be yes or no, not "${text}"`);
    },
  };
}

function boundedText(text: string, mostCharacters: number): string {
  if (text === "") throw new Mistake("must not be empty");
  if (text.length > mostCharacters) throw new Mistake(`must have at most ${mostCharacters} characters`);
  return text;
}
