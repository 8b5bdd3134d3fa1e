import { CopyButton } from "@hearth-and-keep/page-design";
import { type ReactNode, useEffect, useState } from "react";
import type { ColouredPiece } from "./highlight.ts";
import { showTurning } from "./safe-text.ts";

export type CodeBlockProps = {
  readonly code: string;
  readonly language: string;
  /** While it is being written it has no colours. */
  readonly isOpen: boolean;
};

const mostColoured = 50_000;

export function CodeBlock({ code, language, isOpen }: CodeBlockProps) {
  const name = /^[\w#+.-]{1,40}/u.exec(language)?.[0] ?? "";
  const pieces = usePieces(code, name, isOpen);
  const label = name === "" ? "code" : name;
  return (
    <figure className="code">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={code} label={`Copy this ${label}`} isSmall>
          Copy
        </CopyButton>
      </figcaption>
      {/* It scrolls, so the keyboard has to come there. */}
      <pre tabIndex={0} dir="ltr">
        <code>{pieces === undefined ? showTurning(code) : pieces.map(draw)}</code>
      </pre>
    </figure>
  );
}

/** The colours come later, by a script of their own; until then, and for what nobody knows, the text stands alone. */
function usePieces(code: string, language: string, isOpen: boolean): readonly ColouredPiece[] | undefined {
  const [coloured, setColoured] = useState<{
    readonly of: string;
    readonly pieces: readonly ColouredPiece[];
  }>();
  const isWanted = !isOpen && language !== "" && code.length <= mostColoured;
  useEffect(() => {
    if (!isWanted) return undefined;
    let isGone = false;
    void import("./highlight.ts").then(({ colour }) => {
      const pieces = colour(code, language);
      if (!isGone && pieces !== undefined) setColoured({ of: code, pieces });
      return undefined;
    });
    return () => {
      isGone = true;
    };
  }, [code, language, isWanted]);
  return coloured?.of === code ? coloured.pieces : undefined;
}

function draw(piece: ColouredPiece, place: number): ReactNode {
  if (typeof piece === "string") return showTurning(piece);
  return (
    <span key={place} className={`code-${piece.kind}`}>
      {piece.pieces.map(draw)}
    </span>
  );
}
