import { fromByteText } from "./byte-text.ts";
import { argument, type Call, type Method } from "./call-arguments.ts";
import { TemplateError } from "./template-error.ts";
import { isTrue, makeText, recordUseDeeply, spendTraversal, type Value } from "./values.ts";
import { asText, writeJson } from "./write-value.ts";

/** A larger indent serves no layout and could make a line as long as a prompt. */
const maxIndent = 64;

/** `tojson`, with the arguments of Python's json.dumps. */
export const toJson: Method = (self, call) => {
  const indent = readIndent(argument(call, "indent", 1));
  const [itemSeparator, keySeparator] = readSeparators(call);
  spendTraversal(self, call.run.budget);
  recordUseDeeply(self);
  if (isTrue(argument(call, "sort_keys", 3))) throw new TemplateError("tojson does not support sort_keys");
  const style = {
    ...(indent === undefined ? {} : { indent }),
    itemSeparator: itemSeparator ?? (indent === undefined ? ", " : ","),
    keySeparator: keySeparator ?? ": ",
  };
  const json = writeJson(self, style);
  call.run.budget.spendText(json.length);
  return makeText(isTrue(argument(call, "ensure_ascii", 0)) ? escapeNonAscii(json) : json);
};

function readIndent(value: Value): number | undefined {
  if (value.kind !== "integer" || value.number < 0) return undefined;
  if (value.number > maxIndent) throw new TemplateError(`tojson indent must be at most ${maxIndent}`, true);
  return value.number;
}

function readSeparators(call: Call): readonly string[] {
  const separators = argument(call, "separators", 2);
  return separators.kind === "list" ? separators.items.map(asText) : [];
}

function escapeNonAscii(json: string): string {
  return fromByteText(json).replaceAll(
    /[\x80-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
