import { pino } from "pino";

export type LogLevel = (typeof logLevels)[number];
export type LogValue = string | number | boolean | null;

/** The message is a constant string; values go into fields, which must be on the program's allow-list. */
export type Logger<Field extends string> = {
  readonly [level in LogLevel]: (message: string, fields?: { readonly [name in Field]?: LogValue }) => void;
};

export type LoggerOptions<Field extends string> = {
  readonly level: LogLevel | "silent";
  readonly allowedFields: readonly Field[];
  /** Standard error by default, because standard output is for the command's result. */
  readonly write?: (line: string) => void;
};

export const logLevels = ["error", "warn", "info", "debug"] as const;

export function createLogger<Field extends string>(options: LoggerOptions<Field>): Logger<Field> {
  const write = options.write ?? collectLines((text) => process.stderr.write(text));
  const allowed: ReadonlySet<string> = new Set(options.allowedFields);
  const sink = pino(
    {
      level: options.level,
      base: null,
      messageKey: "message",
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  const logAt =
    (level: LogLevel): Logger<Field>[LogLevel] =>
    (message, fields = {}) =>
      sink[level](keepAllowed(fields, allowed), message);
  return { error: logAt("error"), warn: logAt("warn"), info: logAt("info"), debug: logAt("debug") };
}

/**
 * The lines of one turn of the event loop are written together: with many requests at once, a system call for each line
 * takes longer than making the line. What a program writes before it exits is still written.
 */
export function collectLines(write: (text: string) => void): (line: string) => void {
  let collected = "";
  const flush = (): void => {
    if (collected === "") return;
    const text = collected;
    collected = "";
    write(text);
  };
  process.once("exit", flush);
  return (line) => {
    if (collected === "") setImmediate(flush);
    collected += line;
  };
}

/** The type allows only these fields too, but a variable of a wider type can carry others. */
function keepAllowed(fields: object, allowed: ReadonlySet<string>): Record<string, LogValue> {
  const kept: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!allowed.has(name)) continue;
    kept[name] = typeof value === "object" && value !== null ? String(value) : value;
  }
  return kept;
}
