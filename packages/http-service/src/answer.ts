/** What a handler gives back. Handlers return values; only this package touches the socket. */
export type Answer = WholeAnswer | StreamAnswer;

export type WholeAnswer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

/** An answer that is written as it comes into being. A reader that is slow holds its writer back. */
export type StreamAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: AsyncIterable<string>;
  /** Written while no piece comes, so that nobody takes the connection for dead. */
  readonly filler: string;
  /** The last piece when the others end in a problem after the first one left. */
  readonly endFailed: (problem: unknown) => string;
};

export function textAnswer(text: string): WholeAnswer {
  return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: text };
}

export function jsonAnswer(value: unknown, status = 200): WholeAnswer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(value),
  };
}
