import type { HeaderFacts } from "./header-facts.ts";

/** What a model can be asked for, in the order in which it is told. */
const capabilityNames = [
  "completion",
  "embedding",
  "rank",
  "vision",
  "audio",
  "tools",
  "insert",
  "thinking",
] as const;
export type Capability = (typeof capabilityNames)[number];

export type CapabilitySources = {
  readonly facts: HeaderFacts;
  readonly hasProjector: boolean;
  /** Ollama's own template, in Go's language. */
  readonly template: string | null;
  /** What the model's maker wrote into its configuration. */
  readonly named: readonly string[];
};

export function listCapabilities({
  facts,
  hasProjector,
  template,
  named,
}: CapabilitySources): readonly Capability[] {
  const { hints, isPooled } = facts;
  const text = template ?? "";
  const canDo: Readonly<Record<Capability, boolean>> = {
    completion: !isPooled,
    embedding: isPooled && !hints.rank,
    rank: hints.rank,
    vision: hints.vision || hasProjector,
    audio: hints.audio,
    tools: !isPooled && (hints.tools || /\.Tools\b/u.test(text)),
    insert: !isPooled && (hints.fillInTheMiddle || /\.Suffix\b/u.test(text)),
    thinking: !isPooled && (hints.thinking || /\.Thinking\b|<think>/u.test(text)),
  };
  return capabilityNames.filter((name) => canDo[name] || named.includes(name));
}
