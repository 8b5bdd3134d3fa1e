import { pino } from "pino";

export type LogLevel = (typeof logLevels)[number];
export type LogValue = string | number | boolean | null;

/** Writes lines whose message is a fixed phrase and whose values are fields on the program's allow-list. */
export type Logger<Field extends string> = {
  readonly [level in LogLevel]: (phrase: string, fields?: { readonly [name in Field]?: LogValue }) => void;
};

export type LoggerOptions<Field extends string> = {
  readonly level: LogLevel | "silent";
  readonly allowedFields: readonly Field[];
  /** Where lines go; standard error unless told, because standard output belongs to the command's own result. */
  readonly write?: (line: string) => void;
};

export const logLevels = ["error", "warn", "info", "debug"] as const;

export function createLogger<Field extends string>(options: LoggerOptions<Field>): Logger<Field> {
  const write = options.write ?? ((line: string): void => void process.stderr.write(line));
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
  const lineAt =
    (level: LogLevel): Logger<Field>[LogLevel] =>
    (phrase, fields = {}) =>
      sink[level](keepAllowed(fields, allowed), phrase);
  return { error: lineAt("error"), warn: lineAt("warn"), info: lineAt("info"), debug: lineAt("debug") };
}

/** The type already closes the list; this also drops what reaches us through a wider object. */
function keepAllowed(fields: object, allowed: ReadonlySet<string>): Record<string, LogValue> {
  const kept: Record<string, LogValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (!allowed.has(name)) continue;
    kept[name] = typeof value === "object" && value !== null ? String(value) : value;
  }
  return kept;
}
