import { Notice } from "@hearth-and-keep/page-design";
import { SelectField, TextField } from "../../design/field.tsx";
import { formatDate } from "../../design/timestamp.tsx";
import { type Expiry, expirationDate, type TokenDraft } from "./token-draft.ts";

const options: readonly { readonly value: Expiry; readonly label: string }[] = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days (recommended)" },
  { value: "365", label: "1 year" },
  { value: "date", label: "Custom date" },
  { value: "never", label: "No expiration" },
];

export type TokenExpiryProps = {
  readonly draft: TokenDraft;
  readonly error: string | undefined;
  readonly onChange: (change: Partial<TokenDraft>) => void;
};

export function TokenExpiry({ draft, error: fieldError, onChange }: TokenExpiryProps) {
  const end = expirationDate(draft);
  return (
    <section className="card padded stack" aria-labelledby="token-expiry">
      <h2 id="token-expiry">Expiration</h2>
      <div className="token-expiry-fields">
        <SelectField
          label="Expires after"
          hint={
            end === null
              ? "You can rotate or revoke the token at any time."
              : `Expires on ${formatDate(new Date(end))}.`
          }
          value={draft.expiry}
          options={options}
          // The options above are the only values.
          onChange={(value) => onChange({ expiry: value as Expiry })}
        />
        {draft.expiry === "date" && (
          <TextField
            label="Date"
            hint="Expires at the start of this day (UTC)."
            type="date"
            min={new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}
            value={draft.date}
            error={fieldError}
            onChange={(event) => onChange({ date: event.currentTarget.value })}
          />
        )}
      </div>
      {draft.expiry === "never" && (
        <Notice kind="warning">
          The token works until someone revokes it. If it leaks unnoticed, it gives access indefinitely.
          Choose an expiration date if you can.
        </Notice>
      )}
    </section>
  );
}
