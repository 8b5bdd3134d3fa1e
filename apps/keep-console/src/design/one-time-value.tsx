import { CopyButton } from "@hearth-and-keep/page-design";

export type OneTimeValueProps = {
  readonly label: string;
  readonly text: string;
  readonly copyLabel: string;
  readonly isPrimary?: boolean;
};

/** A text that is shown only now, with a button that copies it. */
export function OneTimeValue({ label, text, copyLabel, isPrimary = false }: OneTimeValueProps) {
  return (
    <div className="stack tight">
      <span className="truncate one-time-label">{label}</span>
      <div className={isPrimary ? "one-time-value primary" : "one-time-value"}>
        <code className="break-words">{text}</code>
        <CopyButton text={text} label={copyLabel}>
          Copy
        </CopyButton>
      </div>
    </div>
  );
}
