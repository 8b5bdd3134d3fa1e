import type { CallFailure } from "../server-client/call-failure.ts";
import { exitCodes } from "./exit-codes.ts";
import { makeSafeLine } from "./untrusted-text.ts";

/** What happened and why; below it what to type next. */
export type Told = { readonly sentences: readonly string[]; readonly exitCode: number };

/** Every way a command can fail at its server, in words for the person who typed it. */
export function explainCall(failure: CallFailure): Told {
  switch (failure.kind) {
    case "address-invalid":
      return wrong(
        `Cannot use ${failure.where} "${failure.text}": it is no address`,
        "write it as host, host:port or http://host:port",
      );
    case "key-file-unreadable":
      return wrong(
        `Cannot read the key: there is no readable file "${failure.file}"`,
        "name the file with --api-key-file",
      );
    case "server-unreachable":
      return explainUnreachable(failure);
    case "server-strange":
      return tell(exitCodes.serverFailed, `What answers at ${failure.url} is no Hearth and no Ollama`, [
        "look what uses that port, or name another server with --host",
      ]);
    case "key-refused":
      return explainKey(failure);
    case "server-model-missing":
      return explainMissing(failure);
    case "server-refused":
      return explainRefusal(failure);
    case "answer-cut-off":
      return tell(exitCodes.serverFailed, "The answer broke off: the server ended, or the connection did", [
        "hearth logs shows what the server said last; hearth doctor looks at this machine",
      ]);
    case "server-start-failed":
      return explainStart(failure);
    case "own-folder-unusable":
      return wrong(
        `Cannot keep the server's log in ${failure.folder}: ${failure.reason}`,
        "set HOME to a folder of yours; or hearth serve --models FOLDER in a terminal of its own",
      );
    case "words-wrong":
      return wrong(failure.sentence, failure.next);
    case "terminal-missing":
      return wrong(
        "Cannot chat here: this is no terminal, and nothing was said to the model",
        `${failure.command} "your question", or pipe a text into it`,
      );
    case "interrupted":
      return { sentences: failure.sentences, exitCode: exitCodes.interrupted };
  }
}

function tell(exitCode: number, said: string | readonly string[], next: readonly string[]): Told {
  return { sentences: [...[said].flat(), ...next.map((each) => `Next: ${each}`)], exitCode };
}

function wrong(sentence: string, next?: string): Told {
  return tell(exitCodes.wrongWords, sentence, next === undefined ? [] : [next]);
}

function explainUnreachable({ url, reason, isLocal }: CallFailure & { kind: "server-unreachable" }): Told {
  return tell(exitCodes.unreachable, `Cannot reach a server at ${url}: ${reason}`, [
    isLocal
      ? "hearth serve starts one here, and hearth run MODEL does; HEARTH_HOST or --host names another"
      : "look whether it runs there, and whether HEARTH_HOST or --host is right",
  ]);
}

/** What the server said itself, with its own code where people can do something about it. */
function explainStart({ lines, exitCode }: CallFailure & { kind: "server-start-failed" }): Told {
  const said = lines.filter((line) => !line.startsWith("Next: ")).map((line) => `  ${makeSafeLine(line)}`);
  const next = lines.flatMap((line) => /^Next: (.*)/u.exec(line)?.[1] ?? []).map(makeSafeLine);
  const usual =
    exitCode === exitCodes.unreachable
      ? "end that program, or set HEARTH_PORT to another port"
      : "hearth serve shows why, hearth doctor looks at this machine";
  return tell(
    exitCode === exitCodes.wrongWords || exitCode === exitCodes.unreachable
      ? exitCode
      : exitCodes.serverFailed,
    ["Cannot start the server in the background", ...said],
    next.length === 0 ? [usual] : next,
  );
}

function explainKey({ url, hasKey }: CallFailure & { kind: "key-refused" }): Told {
  return hasKey
    ? tell(exitCodes.keyRefused, `The server at ${url} refuses this key`, [
        "put the right one in HEARTH_API_KEY, or in a file for --api-key-file",
      ])
    : tell(exitCodes.keyRefused, `The server at ${url} wants a key, and none was given`, [
        "export HEARTH_API_KEY=…, or name a file with --api-key-file",
      ]);
}

function explainMissing({ model, isRemote }: CallFailure & { kind: "server-model-missing" }): Told {
  const name = makeSafeLine(model);
  if (isRemote) {
    const named = name === "" ? "that model" : `the model "${name}"`;
    return tell(exitCodes.noSuchModel, `The registry does not have ${named}`, [
      "look how it is spelled; the part after the colon is a tag, as in qwen3:8b",
    ]);
  }
  return tell(exitCodes.noSuchModel, `There is no model "${name}" on the server`, [
    `hearth list shows what is there, hearth pull ${name} fetches it`,
  ]);
}

/** What helps against the refusals that people meet. */
const remedies: readonly (readonly [words: RegExp, next: string])[] = [
  [
    /more system memory/u,
    "hearth ps shows what is loaded, hearth stop MODEL frees its memory; or take a smaller model",
  ],
  [
    /no space left|disk is full/u,
    "hearth prune frees what no model needs, hearth remove MODEL frees a model",
  ],
  [
    /unexpectedly stopped|stopped too often/u,
    "try again; hearth logs shows what the engine said, hearth doctor looks at this machine",
  ],
  [/unable to load model|is damaged/u, "hearth remove MODEL and hearth pull MODEL fetch it anew"],
  [/timed out waiting/u, "try again; hearth doctor looks at this machine"],
  [/server busy|is stopping/u, "try again in a moment"],
  [/does not support/u, "hearth show MODEL lists what it can do"],
  [/prompt too long/u, "say less, or give it more room with /set parameter num_ctx 16384"],
  [
    /private address|private-registries/u,
    "hearth serve --private-registries HOST, and --insecure for plain http",
  ],
  [/invalid model name/u, "a name is like model, model:tag or team/model:tag"],
  [/Cannot reach /u, "look whether this machine is online, then try again: what arrived is kept"],
  [/store that is only read/u, "that model belongs to an Ollama on this machine; remove it there"],
  [
    /runs on engines elsewhere/u,
    "take another name, or change the file that hearth serve --engines-file names",
  ],
];

function explainRefusal({ status, text }: CallFailure & { kind: "server-refused" }): Told {
  const remedy = remedies.find(([words]) => words.test(text))?.[1];
  const next = remedy === undefined ? [] : [remedy];
  return tell(
    status >= 500 ? exitCodes.serverFailed : exitCodes.wrongWords,
    `The server says: ${makeSafeLine(text)}`,
    next,
  );
}
