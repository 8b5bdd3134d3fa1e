import { Hidden } from "@hearth-and-keep/logging";

/**
 * One setting. All its names are derived from its key: `apiKey` is `--api-key` on the command line, `HEARTH_API_KEY`
 * in the environment and `api_key` in the file.
 */
export type Setting<Value> = {
  /** Name of the flag's value in the help text; absent for a boolean flag. */
  readonly placeholder?: string;
  readonly description: string;
  readonly defaultValue: Value;
  /** The default as the help text and the settings page show it. */
  readonly defaultText: string;
  readonly isSecret: boolean;
  /** False for a secret that a command line would show to other users of the machine. */
  readonly hasFlag?: boolean;
  /** Whether the file may hold it as a list. */
  readonly isList?: boolean;
  /** Throws an InvalidValueError whose message completes "--port …". */
  readonly parse: (text: string) => Value;
};

export class InvalidValueError extends Error {}

const maxItemLength = 512;

export type SettingDescription = { readonly description: string; readonly placeholder: string };

export function textSetting<Fallback extends string | undefined>(
  described: SettingDescription & { readonly defaultValue: Fallback; readonly maxLength: number },
): Setting<string | Fallback> {
  return {
    ...described,
    defaultText: described.defaultValue ?? "none",
    isSecret: false,
    parse: (text) => boundedText(text, described.maxLength),
  };
}

export function secretSetting(
  described: SettingDescription & { readonly maxLength: number; readonly hasFlag?: boolean },
): Setting<Hidden<string> | undefined> {
  return {
    ...described,
    defaultValue: undefined,
    defaultText: "none",
    isSecret: true,
    parse: (text) => new Hidden(boundedText(text, described.maxLength)),
  };
}

/** Comma-separated strings; `check` returns what is wrong with an entry. */
export function listSetting(
  described: SettingDescription & {
    readonly maxItems: number;
    readonly check?: (item: string) => string | undefined;
  },
): Setting<readonly string[]> {
  return {
    ...described,
    defaultValue: [],
    defaultText: "none",
    isSecret: false,
    isList: true,
    parse: (text) => {
      const items = text.split(",").map((item) => boundedText(item.trim(), maxItemLength));
      if (items.length > described.maxItems) {
        throw new InvalidValueError(`must have at most ${described.maxItems} entries`);
      }
      for (const item of items) {
        const error = described.check?.(item);
        if (error !== undefined) throw new InvalidValueError(`has an entry that ${error}: "${item}"`);
      }
      return items;
    },
  };
}

export function integerSetting<Fallback extends number | undefined>(
  described: SettingDescription & {
    readonly defaultValue: Fallback;
    /** What it means if there is no default value. */
    readonly defaultText?: string;
    readonly min: number;
    readonly max: number;
  },
): Setting<number | Fallback> {
  const { min, max, defaultValue, defaultText = String(defaultValue) } = described;
  return {
    ...described,
    defaultText,
    isSecret: false,
    parse: (text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= min && value <= max)) {
        throw new InvalidValueError(`must be an integer from ${min} to ${max}; got "${text}"`);
      }
      return value;
    },
  };
}

export function choiceSetting<Choice extends string>(
  described: SettingDescription & { readonly defaultValue: Choice; readonly choices: readonly Choice[] },
): Setting<Choice> {
  return {
    ...described,
    defaultText: described.defaultValue,
    isSecret: false,
    parse: (text) => {
      const choice = described.choices.find((each) => each === text);
      if (choice === undefined)
        throw new InvalidValueError(`must be one of ${described.choices.join(", ")}; got "${text}"`);
      return choice;
    },
  };
}

/** A flag without a value; yes or no in the environment and the file. */
export function booleanSetting(described: { readonly description: string }): Setting<boolean> {
  return {
    ...described,
    defaultValue: false,
    defaultText: "no",
    isSecret: false,
    parse: (text) => {
      if (["yes", "true", "1"].includes(text)) return true;
      if (["no", "false", "0"].includes(text)) return false;
      throw new InvalidValueError(`must be yes or no; got "${text}"`);
    },
  };
}

function boundedText(text: string, maxLength: number): string {
  if (text === "") throw new InvalidValueError("must not be empty");
  if (text.length > maxLength) throw new InvalidValueError(`must have at most ${maxLength} characters`);
  return text;
}
