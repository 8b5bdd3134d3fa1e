type ReasoningFormatName =
  | "think"
  | "seed-think"
  | "minimax-think"
  | "mistral-think"
  | "command-thinking"
  | "gemma-channel"
  | "apertus-inner"
  | "kimi-k3-think"
  | "thinking"
  | "reasoning"
  | "thought";

/** The tags in which a family writes its thinking. */
export type ReasoningFormat = {
  readonly name: ReasoningFormatName;
  readonly opens: readonly string[];
  readonly close: string;
  /** What tells the family in a template that puts its tags together from parts; otherwise the tags tell it. */
  readonly signs?: readonly string[];
  /** Tags around the answer itself, which nobody wants to see. */
  readonly hidden?: readonly string[];
};

/** In the order in which they are looked for: the more particular first. */
export const reasoningFormats: readonly ReasoningFormat[] = [
  { name: "seed-think", opens: ["<seed:think>"], close: "</seed:think>" },
  { name: "minimax-think", opens: ["<mm:think>"], close: "</mm:think>" },
  { name: "mistral-think", opens: ["[THINK]"], close: "[/THINK]" },
  {
    name: "command-thinking",
    opens: ["<|START_THINKING|>"],
    close: "<|END_THINKING|>",
    hidden: ["<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>"],
  },
  { name: "gemma-channel", opens: ["<|channel>thought", "<|channel>analysis"], close: "<channel|>" },
  { name: "apertus-inner", opens: ["<|inner_prefix|>"], close: "<|inner_suffix|>" },
  {
    name: "kimi-k3-think",
    opens: ["<|open|>think<|sep|>"],
    close: "<|close|>think<|sep|>",
    signs: ["<|open|>", "<|close|>"],
    hidden: ["<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>"],
  },
  { name: "think", opens: ["<think>"], close: "</think>" },
  { name: "thinking", opens: ["<thinking>"], close: "</thinking>" },
  { name: "reasoning", opens: ["<reasoning>"], close: "</reasoning>" },
  { name: "thought", opens: ["<thought>"], close: "</thought>" },
];

/** The family's tags, as its chat template names them; undefined for a model that does not think in tags. */
export function detectReasoningFormat(template: string): ReasoningFormat | undefined {
  return reasoningFormats.find(({ opens, close, signs }) =>
    signs === undefined
      ? [close, ...opens].some((tag) => template.includes(tag))
      : signs.every((sign) => template.includes(sign)),
  );
}
