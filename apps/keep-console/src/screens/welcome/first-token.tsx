import { Failed } from "@hearth-and-keep/page-design";
import type { NewToken, Session } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useState } from "react";
import { sayDay } from "../../design/exact-moment.tsx";
import { TextField } from "../../design/field.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "../tokens/issued-token.tsx";

export type FirstTokenProps = {
  readonly session: Session;
  readonly vault: { readonly id: string; readonly name: string };
  /** Of this page at this step. */
  readonly address: string;
  readonly onIssued: (issued: IssuedToken) => void;
};

const days = 90;

/** No more than a program needs to read secrets of one vault, and not for ever. */
export function FirstToken({ session, vault, address, onIssued }: FirstTokenProps) {
  const [name, setName] = useState("My first program");
  const [end] = useState(() => new Date(Date.now() + days * 86_400_000));
  const [mistake, setMistake] = useState<string>();
  const { isBusy, problem, run } = useDoing();
  const isStale = needsFreshSignIn(problem);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setMistake(name.trim() === "" ? "Give it a name" : undefined);
    if (name.trim() === "") return;
    const body: NewToken = {
      name: name.trim(),
      scopes: ["secrets:read"],
      vault_ids: [vault.id],
      expires_at: end.toISOString(),
    };
    void run(async () => {
      const issued = await ask<IssuedToken>("/api/secrets/tokens", { method: "POST", body });
      changed("/api/secrets/tokens");
      onIssued(issued.body);
    });
  };
  return (
    <>
      <form className="stack" noValidate onSubmit={submit}>
        <p>A token is a program’s own key. This one may do as little as possible:</p>
        <ul className="points">
          <li>read secrets, and change nothing</li>
          <li className="breaks">in the vault {vault.name} alone</li>
          <li>
            for {days} days, until {sayDay(end)}
          </li>
        </ul>
        <TextField
          label="Name of the token"
          hint="So that you know later which program it is"
          autoComplete="off"
          maxLength={255}
          value={name}
          mistake={mistake}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {problem !== undefined && !isStale && <Failed text={problem.message} />}
        <div className="row">
          <button type="submit" className={isStale ? "button" : "button main"} disabled={isBusy}>
            {isBusy ? "Making it…" : "Make token"}
          </button>
        </div>
      </form>
      {isStale && <SignInAgain session={session} purpose="make a token" returnTo={address} />}
    </>
  );
}
