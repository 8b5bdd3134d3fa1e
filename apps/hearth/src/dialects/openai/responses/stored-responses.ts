import { requestFailure } from "../../../failures.ts";
import { storedResponsesFlag } from "./response-store.ts";
import type { InputItem } from "./schema.ts";
import type { ItemReader, KeyRecords, StoredItem, StoredRecord } from "./stored-record.ts";
import type { ResponseObject } from "./write-response.ts";

export type ResponseToStore = {
  readonly response: ResponseObject;
  /** The input of this request alone. */
  readonly input: readonly StoredItem[];
};

export function saveResponse(records: KeyRecords, { response, input }: ResponseToStore): void {
  const { output, ...head } = response;
  const parentId = response.previous_response_id;
  records.save({
    id: response.id,
    head: JSON.stringify(head),
    ...(parentId === null ? {} : { parentId }),
    input,
    output: toStoredOutput(output),
  });
}

export function toStoredOutput(output: ResponseObject["output"]): readonly StoredItem[] {
  return output.map((item) => ({ id: item.id, text: JSON.stringify(item) }));
}

/** The response as it was sent when it was complete. */
export function readResponse({ head, output }: StoredRecord): object {
  return { ...JSON.parse(head), output: output.map(({ text }): unknown => JSON.parse(text)) };
}

/** The items of a response and of all that it continues, oldest first. */
export function readHistory(
  records: KeyRecords | undefined,
  id: string,
  reader: ItemReader,
): readonly InputItem[] {
  if (records === undefined) {
    throw previousNotFound(
      `with id "${id}" not found: this server stores no responses; set ${storedResponsesFlag}`,
    );
  }
  const chain: StoredRecord[] = [];
  for (let next: string | undefined = id; next !== undefined; ) {
    const record = records.find(next);
    if (record === undefined) throw previousNotFound(explainMissing(id, chain));
    chain.push(record);
    next = record.parentId;
  }
  return chain
    .toReversed()
    .flatMap(({ input, output }) => [...input, ...output])
    .map((item) => reader.read(item));
}

function explainMissing(id: string, chain: readonly StoredRecord[]): string {
  if (chain.length === 0) return `with id "${id}" not found`;
  return `with id "${id}" cannot be continued: a response before it is no longer stored; send the complete input`;
}

function previousNotFound(reason: string): Error {
  return requestFailure({
    kind: "stored-object-not-found",
    object: "response",
    field: "previous_response_id",
    reason,
  });
}
