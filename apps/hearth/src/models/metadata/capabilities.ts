import type { HeaderFacts } from "./header-facts.ts";

/** In the order in which they are listed. */
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

export type ProjectorCapabilities = Pick<HeaderFacts["capabilities"], "vision" | "audio">;

export type CapabilitySources = {
  readonly facts: HeaderFacts;
  /** What the projector encodes; undefined without one. */
  readonly projector: ProjectorCapabilities | undefined;
  /** Ollama's Go template. */
  readonly template: string | null;
  /** Declared by the publisher in the model's configuration. */
  readonly declared: readonly string[];
};

export function listCapabilities({
  facts,
  projector,
  template,
  declared,
}: CapabilitySources): readonly Capability[] {
  const { capabilities, isPooled } = facts;
  const text = template ?? "";
  const isSupported: Readonly<Record<Capability, boolean>> = {
    completion: !isPooled,
    embedding: isPooled && !capabilities.rank,
    rank: capabilities.rank,
    vision: capabilities.vision || projector?.vision === true,
    audio: capabilities.audio || projector?.audio === true,
    tools: !isPooled && (capabilities.tools || /\.Tools\b/u.test(text)),
    insert: !isPooled && (capabilities.fillInTheMiddle || /\.Suffix\b/u.test(text)),
    thinking: !isPooled && (capabilities.thinking || /\.Thinking\b|<think>/u.test(text)),
  };
  return capabilityNames.filter((name) => isSupported[name] || declared.includes(name));
}
