import { CopyButton } from "@hearth-and-keep/page-design";

export type CodeBlockProps = {
  /** What the code is, or the file it goes into. */
  readonly label: string;
  readonly text: string;
  /** Copied instead of `text`, for example with a token that is masked on screen. */
  readonly copiedText?: string;
};

export function CodeBlock({ label, text, copiedText = text }: CodeBlockProps) {
  return (
    <figure className="code">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={copiedText} label={`Copy: ${label}`}>
          Copy
        </CopyButton>
      </figcaption>
      <pre>
        <code>{text}</code>
      </pre>
    </figure>
  );
}
