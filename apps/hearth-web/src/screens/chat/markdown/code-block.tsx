import { CopyButton } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useState } from "react";
import { revealBidiControls } from "../../../design/reveal-bidi-controls.ts";
import type { HighlightedNode } from "./highlight.ts";

export type CodeBlockProps = {
  readonly code: string;
  readonly language: string;
  /** Code that is still being streamed is not highlighted. */
  readonly isStreaming?: boolean;
};

const maxHighlightedCharacters = 50_000;

export function CodeBlock({ code, language, isStreaming = false }: CodeBlockProps) {
  const name = /^[\w#+.-]{1,40}/u.exec(language)?.[0] ?? "";
  const nodes = useHighlighting(code, name, isStreaming);
  const label = name === "" ? "code" : name;
  return (
    <figure className="code">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} label={`Copy ${label}`} isSmall>
          Copy
        </CopyButton>
      </figcaption>
      {/* A scrollable region must be focusable for keyboard users. */}
      <pre tabIndex={0} dir="ltr">
        <code>{nodes === undefined ? revealBidiControls(code) : nodes.map(renderNode)}</code>
      </pre>
    </figure>
  );
}

/** Undefined until the highlighter, a chunk of its own, is loaded, and for unknown languages. */
function useHighlighting(
  code: string,
  language: string,
  isStreaming: boolean,
): readonly HighlightedNode[] | undefined {
  const [highlighted, setHighlighted] = useState<{
    readonly code: string;
    readonly nodes: readonly HighlightedNode[];
  }>();
  const isEnabled = !isStreaming && language !== "" && code.length <= maxHighlightedCharacters;
  useEffect(() => {
    if (!isEnabled) return undefined;
    let isUnmounted = false;
    void import("./highlight.ts").then(({ highlight }) => {
      const nodes = highlight(code, language);
      if (!isUnmounted && nodes !== undefined) setHighlighted({ code, nodes });
      return undefined;
    });
    return () => {
      isUnmounted = true;
    };
  }, [code, language, isEnabled]);
  return highlighted?.code === code ? highlighted.nodes : undefined;
}

function renderNode(node: HighlightedNode, index: number): ReactNode {
  if (typeof node === "string") return revealBidiControls(node);
  return (
    <span key={index} className={`code-${node.kind}`}>
      {node.children.map(renderNode)}
    </span>
  );
}
