import { isIPv4, isIPv6 } from "node:net";
import type { JsonObject } from "@hearth-and-keep/engine";
import { Ajv2020 } from "ajv/dist/2020.js";

/** A validator independent of our grammars; formats are checked by the platform where possible. */
export function createValidator(schema: JsonObject): (document: unknown) => boolean {
  const validator = new Ajv2020({ strict: false });
  for (const [name, isValid] of Object.entries(formatChecks)) validator.addFormat(name, isValid);
  return validator.compile(schema);
}

const formatChecks: Readonly<Record<string, (text: string) => boolean>> = {
  date: isDate,
  time: isTime,
  "date-time": (text) => {
    const [date = "", time = ""] = text.split("T", 2);
    return isDate(date) && isTime(time);
  },
  uuid: (text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/iu.test(text),
  email: (text) =>
    /^[^\s@"]+@[^\s@.]+(?:\.[^\s@.]+)+$/u.test(text) && URL.canParse(`http://${text.split("@")[1]}`),
  ipv4: isIPv4,
  ipv6: isIPv6,
};

/** Date turns a day that does not exist into another one. */
function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isTime(text: string): boolean {
  return /(?:Z|[+-]\d\d:\d\d)$/u.test(text) && !Number.isNaN(Date.parse(`2020-01-01T${text}`));
}
