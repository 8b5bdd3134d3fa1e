import { fromByteText } from "./byte-text.ts";
import { argument, type Call, type Method } from "./call-arguments.ts";
import { TemplateError } from "./template-error.ts";
import { isTrue, makeText, recordUseDeeply, spendWalk, type Value } from "./values.ts";
import { asText, writeJson } from "./write-value.ts";

/** More is no layout, and one line would cost as much as the prompt. */
const mostIndent = 64;

/** `tojson`, with the arguments of Python's json.dumps. */
export const toJson: Method = (self, call) => {
  const indent = readIndent(argument(call, "indent", 1));
  const [itemSeparator, keySeparator] = readSeparators(call);
  spendWalk(self, call.run.budget);
  recordUseDeeply(self);
  if (isTrue(argument(call, "sort_keys", 3))) throw new TemplateError("tojson cannot sort keys");
  const style = {
    ...(indent === undefined ? {} : { indent }),
    itemSeparator: itemSeparator ?? (indent === undefined ? ", " : ","),
    keySeparator: keySeparator ?? ": ",
  };
  const written = writeJson(self, style);
  call.run.budget.spendText(written.length);
  return makeText(isTrue(argument(call, "ensure_ascii", 0)) ? escapeBeyondAscii(written) : written);
};

function readIndent(value: Value): number | undefined {
  if (value.kind !== "integer" || value.number < 0) return undefined;
  if (value.number > mostIndent) throw new TemplateError(`tojson indents by ${mostIndent} at most`, true);
  return value.number;
}

function readSeparators(call: Call): readonly string[] {
  const separators = argument(call, "separators", 2);
  return separators.kind === "list" ? separators.items.map(asText) : [];
}

function escapeBeyondAscii(written: string): string {
  return fromByteText(written).replaceAll(
    /[\x80-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
