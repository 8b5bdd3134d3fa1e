/** What a handler gives back. Handlers return values; only this package touches the socket. */
export type Answer = {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
};

export function textAnswer(text: string): Answer {
  return { status: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body: text };
}

export function jsonAnswer(value: unknown, status = 200): Answer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: JSON.stringify(value),
  };
}
