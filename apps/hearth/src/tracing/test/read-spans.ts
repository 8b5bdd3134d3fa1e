/**
 * @module
 * Reads the spans of an OTLP request as a collector does, by the field numbers of OpenTelemetry's protocol definition,
 * independently of the package that wrote them. Imported by the tests of `tracing/`.
 */

export type ReceivedSpan = {
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly startNanoseconds: bigint;
  readonly endNanoseconds: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
};

type Value = bigint | Buffer;
type Message = ReadonlyMap<number, readonly Value[]>;

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"];

/** `ExportTraceServiceRequest` → `ResourceSpans` → `ScopeSpans` → `Span`. */
export function readSpans(body: Buffer): readonly ReceivedSpan[] {
  return messages(parse(body), 1)
    .flatMap((resourceSpans) => messages(resourceSpans, 2))
    .flatMap((scopeSpans) => messages(scopeSpans, 2))
    .map(readSpan);
}

function readSpan(span: Message): ReceivedSpan {
  return {
    traceId: bytes(span, 1).toString("hex"),
    spanId: bytes(span, 2).toString("hex"),
    traceState: bytes(span, 3).toString("utf8"),
    parentSpanId: bytes(span, 4).toString("hex"),
    name: bytes(span, 5).toString("utf8"),
    kind: kinds[Number(integer(span, 6))] ?? "unknown",
    startNanoseconds: integer(span, 7),
    endNanoseconds: integer(span, 8),
    attributes: Object.fromEntries(
      messages(span, 9).map((pair) => [bytes(pair, 1).toString("utf8"), readAnyValue(bytes(pair, 2))]),
    ),
  };
}

/** `AnyValue`: a string, a boolean, an integer, a double or a list. */
function readAnyValue(value: Buffer): unknown {
  const message = parse(value);
  if (message.has(1)) return bytes(message, 1).toString("utf8");
  if (message.has(2)) return integer(message, 2) === 1n;
  if (message.has(3)) return Number(integer(message, 3));
  if (message.has(4)) return toDouble(integer(message, 4));
  return messages(message, 5).flatMap((list) =>
    (list.get(1) ?? []).map((each) => readAnyValue(toBytes(each))),
  );
}

function toDouble(bits: bigint): number {
  const buffer = Buffer.alloc(8);
  buffer.writeBigUInt64LE(bits);
  return buffer.readDoubleLE();
}

function messages(message: Message, field: number): readonly Message[] {
  return (message.get(field) ?? []).map((value) => parse(toBytes(value)));
}

function bytes(message: Message, field: number): Buffer {
  return toBytes(message.get(field)?.[0] ?? Buffer.alloc(0));
}

function integer(message: Message, field: number): bigint {
  const value = message.get(field)?.[0] ?? 0n;
  if (typeof value === "bigint") return value;
  throw new TypeError(`Field ${field} is not a number`);
}

function toBytes(value: Value): Buffer {
  if (typeof value === "bigint") throw new TypeError("A field is not a message, string or bytes");
  return value;
}

/** The wire format of protocol buffers: field number and type, then a number or a length and bytes. */
function parse(body: Buffer): Message {
  const message = new Map<number, Value[]>();
  let offset = 0;
  const readVarint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = body[offset];
      if (byte === undefined) throw new RangeError("A number is cut off");
      offset += 1;
      value |= BigInt(byte % 128) << shift;
      if (byte < 128) return value;
    }
  };
  const readBytes = (length: number): Buffer => {
    const part = body.subarray(offset, offset + length);
    if (part.length < length) throw new RangeError("A field is cut off");
    offset += length;
    return part;
  };
  const readValue = (type: number): Value => {
    if (type === 0) return readVarint();
    if (type === 1) return readBytes(8).readBigUInt64LE();
    if (type === 2) return readBytes(Number(readVarint()));
    if (type === 5) return BigInt(readBytes(4).readUInt32LE());
    throw new RangeError(`Unknown wire type ${type}`);
  };
  while (offset < body.length) {
    const tag = Number(readVarint());
    const values = message.get(Math.floor(tag / 8)) ?? [];
    values.push(readValue(tag % 8));
    message.set(Math.floor(tag / 8), values);
  }
  return message;
}
