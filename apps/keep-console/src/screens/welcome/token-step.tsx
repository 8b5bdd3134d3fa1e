import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { NewToken, Session } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { formatDate } from "../../design/timestamp.tsx";
import { requiresFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";

export type TokenStepProps = {
  readonly session: Session;
  readonly vault: { readonly id: string; readonly name: string };
  /** The URL of this step. */
  readonly returnTo: string;
  readonly onIssued: (issued: IssuedToken) => void;
};

const days = 90;

/** Creates a token that can read one vault for 90 days. */
export function TokenStep({ session, vault, returnTo, onIssued }: TokenStepProps) {
  const [name, setName] = useState("My first program");
  const [expiresAt] = useState(() => new Date(Date.now() + days * 86_400_000));
  const [fieldError, setFieldError] = useState<string>();
  const { isBusy, error, run } = useMutation();
  const needsSignIn = requiresFreshSignIn(error);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setFieldError(name.trim() === "" ? "Enter a name" : undefined);
    if (name.trim() === "") return;
    const body: NewToken = {
      name: name.trim(),
      scopes: ["secrets:read"],
      vault_ids: [vault.id],
      expires_at: expiresAt.toISOString(),
    };
    void run(async () => {
      const issued = await request<IssuedToken>("/api/secrets/tokens", { method: "POST", body });
      invalidate("/api/secrets/tokens");
      onIssued(issued.body);
    });
  };
  return (
    <>
      <form className="stack" noValidate onSubmit={submit}>
        <p>A token gives one program access to the API. This one can:</p>
        <ul className="bullets">
          <li>read secrets, but not change them</li>
          <li className="break-words">only in the vault {vault.name}</li>
          <li>
            for {days} days, until {formatDate(expiresAt)}
          </li>
        </ul>
        <TextField
          label="Token name"
          hint="The program that uses it"
          autoComplete="off"
          maxLength={255}
          value={name}
          error={fieldError}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {error !== undefined && !needsSignIn && <ErrorNotice text={error.message} />}
        <div className="row">
          <button type="submit" className={needsSignIn ? "button" : "button primary"} disabled={isBusy}>
            {isBusy ? "Creating…" : "Create token"}
          </button>
        </div>
      </form>
      {needsSignIn && <SignInAgain session={session} purpose="create a token" returnTo={returnTo} />}
    </>
  );
}
