import { isJsonObject } from "@hearth-and-keep/engine";
import { maxPdfs, type ReadPdfOptions, readPdfText } from "../../../documents/read-pdf-text.ts";
import { splitDataUrl } from "../../../images/base64.ts";
import type { WireContent } from "./read-content.ts";
import type { Items } from "./read-items.ts";
import type { InputItem, InputPart } from "./schema.ts";

/** The text of each part that is a PDF; undefined if it could not be read. */
type PdfTexts = ReadonlyMap<InputPart, string | undefined>;

/** Puts the text of PDFs in the place of the files; one that cannot be read becomes a sentence. */
export async function readPdfFiles(items: Items, options: ReadPdfOptions): Promise<Items> {
  const pdfs = [...items.previous, ...items.own].flatMap(partsOf).flatMap((part) => {
    const base64 = pdfOf(part);
    return base64 === undefined ? [] : [{ part, base64 }];
  });
  if (pdfs.length === 0) return items;
  const texts = new Map<InputPart, string | undefined>(pdfs.map(({ part }) => [part, undefined]));
  // One after the other, which bounds memory.
  for (const { part, base64 } of pdfs.slice(-maxPdfs)) texts.set(part, await readPdfText(base64, options));
  const replace = (item: InputItem): InputItem => ({
    ...item,
    ...replaceIn(item, "content", texts),
    ...replaceIn(item, "output", texts),
  });
  return { previous: items.previous.map(replace), own: items.own.map(replace) };
}

function partsOf({ content, output }: InputItem): readonly InputPart[] {
  return [content, output].flatMap((each) => (isList(each) ? each : []));
}

function isList(content: WireContent): content is readonly InputPart[] {
  return Array.isArray(content);
}

/** The base64 of a PDF; undefined for every other part. Items of other tools have parts of any kind. */
function pdfOf(part: InputPart): string | undefined {
  const { type, file_data: url } = isJsonObject(part) ? part : {};
  if (type !== "input_file" || typeof url !== "string" || !/^data:application\/pdf[;,]/iu.test(url)) {
    return undefined;
  }
  return splitDataUrl(url)?.base64;
}

function replaceIn(
  item: InputItem,
  field: "content" | "output",
  texts: PdfTexts,
): Pick<InputItem, typeof field> {
  const content = item[field];
  if (!isList(content)) return {};
  return {
    [field]: content.map((part) => (texts.has(part) ? toText(part, texts.get(part)) : part)),
  };
}

function toText({ filename }: InputPart, text: string | undefined): InputPart {
  const name = typeof filename === "string" ? filename : undefined;
  if (text === undefined) {
    const what = name === undefined ? "A PDF" : `The file "${name}"`;
    return { type: "input_text", text: `[${what} is left out here, because it could not be read]` };
  }
  return { type: "input_text", text: name === undefined ? text : `${name}:\n${text}` };
}
