import { Notice } from "@hearth-and-keep/page-design";
import { sayDay } from "../../design/exact-moment.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { type Expiry, expiryOf, type TokenDraft } from "./token-draft.ts";

const choices: readonly { readonly value: Expiry; readonly label: string }[] = [
  { value: "7", label: "in 7 days" },
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days (suggested)" },
  { value: "365", label: "in a year" },
  { value: "date", label: "on a day I choose" },
  { value: "never", label: "never" },
];

export type TokenExpiryProps = {
  readonly draft: TokenDraft;
  readonly mistake: string | undefined;
  readonly onChange: (change: Partial<TokenDraft>) => void;
};

export function TokenExpiry({ draft, mistake, onChange }: TokenExpiryProps) {
  const end = expiryOf(draft);
  return (
    <section className="card padded stack" aria-labelledby="token-expiry">
      <h2 id="token-expiry">How long it works</h2>
      <div className="token-expiry-fields">
        <SelectField
          label="It expires"
          hint={
            end === null ? "You can rotate or revoke it at any time." : `That is ${sayDay(new Date(end))}.`
          }
          value={draft.expiry}
          choices={choices}
          // The choices above are all there are.
          onChoose={(value) => onChange({ expiry: value as Expiry })}
        />
        {draft.expiry === "date" && (
          <TextField
            label="The day"
            hint="It stops working when this day begins, in UTC."
            type="date"
            min={new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}
            value={draft.date}
            mistake={mistake}
            onChange={(event) => onChange({ date: event.currentTarget.value })}
          />
        )}
      </div>
      {draft.expiry === "never" && (
        <Notice kind="warn">
          It works until somebody revokes it. If it leaks and nobody notices, it stays open for ever: choose a
          day if you can.
        </Notice>
      )}
    </section>
  );
}
