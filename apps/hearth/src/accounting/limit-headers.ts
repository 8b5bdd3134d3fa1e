import type { Decision, LimitName } from "../key-store/key-store.ts";
import type { Protocol } from "../protocol.ts";

type Window = {
  readonly name: "requests" | "tokens";
  readonly limit: number;
  readonly remaining: number;
  readonly resetMilliseconds: number;
};

/** The headers about limits that the official clients of each API know; none without limits per minute. */
export function limitHeaders(
  protocol: Protocol["name"],
  decision: Decision,
): Readonly<Record<string, string>> {
  const write = protocol === "anthropic" ? writeAnthropic : writeOpenAI;
  return Object.fromEntries(windowsOf(decision).flatMap(write));
}

function windowsOf(decision: Decision): readonly Window[] {
  const { requestsPerMinute, tokensPerMinute } = decision.limits;
  return [
    ...(requestsPerMinute === undefined
      ? []
      : [
          {
            name: "requests",
            limit: requestsPerMinute,
            remaining: Math.max(0, requestsPerMinute - decision.requestsInWindow),
            resetMilliseconds: decision.requestsResetMilliseconds,
          } as const,
        ]),
    ...(tokensPerMinute === undefined
      ? []
      : [
          {
            name: "tokens",
            limit: tokensPerMinute,
            remaining: Math.max(0, tokensPerMinute - decision.tokensInWindow),
            resetMilliseconds: decision.tokensResetMilliseconds,
          } as const,
        ]),
  ];
}

type Header = readonly [name: string, value: string];

function writeOpenAI({ name, limit, remaining, resetMilliseconds }: Window): readonly Header[] {
  return [
    [`x-ratelimit-limit-${name}`, String(limit)],
    [`x-ratelimit-remaining-${name}`, String(remaining)],
    [`x-ratelimit-reset-${name}`, formatDuration(resetMilliseconds)],
  ];
}

function writeAnthropic({ name, limit, remaining, resetMilliseconds }: Window): readonly Header[] {
  return [
    [`anthropic-ratelimit-${name}-limit`, String(limit)],
    [`anthropic-ratelimit-${name}-remaining`, String(remaining)],
    [`anthropic-ratelimit-${name}-reset`, new Date(Date.now() + resetMilliseconds).toISOString()],
  ];
}

/** As in `120ms`, `1s` and `6m0s`. */
function formatDuration(milliseconds: number): string {
  const rounded = Math.ceil(milliseconds);
  if (rounded < 1000) return `${rounded}ms`;
  const minutes = Math.floor(rounded / 60_000);
  const seconds = (rounded % 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}

/** What clients are told about a limit. */
export const limitTexts = {
  requestsPerMinute: "requests",
  tokensPerMinute: "tokens",
  concurrentRequests: "concurrent requests",
  tokensPerDay: "day",
  tokensPerMonth: "month",
} as const satisfies Readonly<Record<LimitName, string>>;
