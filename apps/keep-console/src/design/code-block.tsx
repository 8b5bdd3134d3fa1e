import { CopyButton } from "@hearth-and-keep/page-design";

export type CodeBlockProps = {
  /** What it is or where it goes. */
  readonly label: string;
  readonly shown: string;
  /** When what is copied has more in it than what is shown. */
  readonly copied?: string;
};

/** Lines to take along, with a button that takes them. */
export function CodeBlock({ label, shown, copied = shown }: CodeBlockProps) {
  return (
    <figure className="code">
      <figcaption>
        <span>{label}</span>
        <CopyButton text={copied} label={`Copy: ${label}`}>
          Copy
        </CopyButton>
      </figcaption>
      <pre>
        <code>{shown}</code>
      </pre>
    </figure>
  );
}
