type Step = { readonly when: RegExp; readonly step: string };

/** By the words of the server's sentence; the first that fits. */
const byWords: readonly Step[] = [
  { when: /not found, try pulling/u, step: "Pull it under Models, or choose another model above." },
  {
    when: /requires more system memory/u,
    step: "Choose a smaller model, or a smaller context under Parameters.",
  },
  { when: /prompt too long/u, step: "Start a new chat, or make the context larger under Parameters." },
  {
    when: /runner has unexpectedly stopped|stopped too often/u,
    step: "Try again; when it stops each time, look at what hearth serve has logged, or choose another model.",
  },
  { when: /busy|stopping|unloaded while/u, step: "Wait a moment and try again." },
  { when: /does not support/u, step: "Choose a model that can, or leave it out." },
  { when: /no space left|disk/u, step: "Make room on the disk: delete models here, or run hearth prune." },
  {
    when: /file does not exist|has no model/u,
    step: "Look at the spelling: a name is like model:tag or host/team/model.",
  },
  { when: /private address|plain http/u, step: "Start the server with that host in --private-registries." },
  { when: /Cannot reach|connection to Hearth broke/u, step: "Look at the network, and try again." },
  { when: /only read/u, step: "Models of another program's store are deleted there." },
];

const byStatus: Readonly<Record<number, string>> = {
  0: "Is it running? Start it with: hearth serve",
  401: "Load this page again; the browser then asks for the key.",
  403: "Open this page by the address that the server knows itself by.",
  413: "Send less at once: fewer or smaller images.",
};

/** What a person does about a refusal; empty when its own sentence says all there is. */
export function nextStepFor(status: number, sentence: string): string {
  return byWords.find(({ when }) => when.test(sentence))?.step ?? byStatus[status] ?? "";
}
