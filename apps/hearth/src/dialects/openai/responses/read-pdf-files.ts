import { isJsonObject } from "@hearth-and-keep/engine";
import { maxPdfs, type ReadPdfOptions, readPdfText } from "../../../documents/read-pdf-text.ts";
import { describePdf, pdfOf } from "../read-file.ts";
import type { WireContent } from "./read-content.ts";
import type { Items } from "./read-items.ts";
import type { InputItem, InputPart } from "./schema.ts";

/** The text of each part that is a PDF; undefined if it could not be read. */
type PdfTexts = ReadonlyMap<InputPart, string | undefined>;

/** Puts the text of PDFs in the place of the files; one that cannot be read becomes a sentence. */
export async function readPdfFiles(items: Items, options: ReadPdfOptions): Promise<Items> {
  const pdfs = [...items.previous, ...items.own].flatMap(partsOf).flatMap((part) => {
    const base64 = pdfOfPart(part);
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
function pdfOfPart(part: InputPart): string | undefined {
  return isJsonObject(part) && part.type === "input_file" ? pdfOf(part) : undefined;
}

function replaceIn(
  item: InputItem,
  field: "content" | "output",
  texts: PdfTexts,
): Pick<InputItem, typeof field> {
  const content = item[field];
  if (!isList(content)) return {};
  return {
    [field]: content.map((part) =>
      texts.has(part) ? { type: "input_text", text: describePdf(part, texts.get(part)) } : part,
    ),
  };
}
