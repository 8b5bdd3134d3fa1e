/** Runs in the sandbox. Prints what each attempt has learned, as one JSON line, and what allowed calls return. */
import { execFileSync } from "node:child_process";
import OpenAI from "openai";
import { readPlaceholder } from "./config.ts";
import {
  reflectionAttempts,
  requestAttempts,
  sandboxAttempts,
  type Targets,
  targetAttempts,
} from "./hostile-attempts.ts";

// Written by the test.
const targets = JSON.parse(process.argv[2] ?? "{}") as Targets;
const attempts = { ...reflectionAttempts, ...targetAttempts, ...requestAttempts, ...sandboxAttempts };

function print(record: object): void {
  process.stdout.write(`${JSON.stringify(record)}\n`);
}

for (const [name, call] of Object.entries({ github: callGithub, openai: callOpenai, stripe: callStripe }))
  print({ call: name, result: await call().catch(String) });
for (const [name, attempt] of Object.entries(attempts))
  print({ attempt: name, learned: await attempt(targets).catch((error: unknown) => describe(error)) });

function describe(error: unknown): string {
  return error instanceof Error ? `${error.message} ${describe(error.cause ?? "")}` : String(error);
}

async function callGithub(): Promise<unknown> {
  const headers = { authorization: `Bearer ${readPlaceholder("GITHUB_TOKEN")}` };
  const response = await fetch(`https://${targets.hosts.github}/user`, { headers });
  return response.json();
}

async function callOpenai(): Promise<unknown> {
  const client = new OpenAI({ baseURL: `https://${targets.hosts.openai}/v1`, maxRetries: 0 });
  const request = { model: "fake", messages: [{ role: "user" as const, content: "Hello" }] };
  const whole = await client.chat.completions.create(request);
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? "";
  return [whole.choices[0]?.message.content, streamed];
}

async function callStripe(): Promise<unknown> {
  const args = [
    "-s",
    "-u",
    `${readPlaceholder("STRIPE_KEY")}:`,
    `https://${targets.hosts.stripe}/v1/customers`,
  ];
  return JSON.parse(execFileSync("curl", args, { encoding: "utf8" }));
}
