import { TextArea } from "../../design/field.tsx";
import { describePattern, parseLines, validatePathPattern } from "./validate-restrictions.ts";

export type PathPatternsFieldProps = {
  /** One pattern per line. */
  readonly value: string;
  readonly label?: string;
  readonly hint?: string;
  readonly error: string | undefined;
  readonly onChange: (value: string) => void;
};

const defaultHint =
  "One per line. Leave empty for all paths. * matches one name, ** at the end everything below.";

/** Path patterns with an explanation of each, while they are typed. */
export function PathPatternsField(props: PathPatternsFieldProps) {
  const { value, label = "Paths", hint = defaultHint, error, onChange } = props;
  const validPatterns = parseLines(value).filter((line) => validatePathPattern(line) === undefined);
  return (
    <div className="stack tight">
      <TextArea
        label={label}
        hint={hint}
        placeholder="/prod/**"
        rows={3}
        value={value}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <ul
        className="small muted break-words"
        aria-label={`Matching ${label.toLowerCase()}`}
        aria-live="polite"
      >
        {validPatterns.map((line) => (
          <li key={line}>{describePattern(line)}</li>
        ))}
      </ul>
    </div>
  );
}

/** The error of the first invalid line. */
export function validatePathPatterns(text: string): string | undefined {
  return parseLines(text).flatMap((line) => validatePathPattern(line) ?? [])[0];
}
