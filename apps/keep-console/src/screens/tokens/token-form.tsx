import { Failed, Link } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useRef, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { needsFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { ask, type KeepProblem } from "../../vault-api/api-client.ts";
import { useDoing } from "../../vault-api/use-mutation.ts";
import { changed } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "./issued-token.tsx";
import { ScopeChoices } from "./scope-choices.tsx";
import {
  type DraftMistakes,
  firstDraft,
  keepDraft,
  mistakesIn,
  requestOf,
  type TokenDraft,
  takeDraft,
} from "./token-draft.ts";
import { TokenExpiry } from "./token-expiry.tsx";
import { TokenLimits } from "./token-limits.tsx";

export type TokenFormProps = {
  readonly session: Session;
  readonly vaults: readonly Vault[];
  readonly onIssued: (issued: IssuedToken) => void;
};

/** Everything about a new token but its value, which the server makes. */
export function TokenForm({ session, vaults, onIssued }: TokenFormProps) {
  const { draft, change, mistakes, problem, isBusy, submit } = useTokenDraft(onIssued);
  const form = useRef<HTMLFormElement>(null);
  const onSubmit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!(await submit())) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  };
  const isStale = needsFreshSignIn(problem);
  return (
    <div className="stack token-form">
      <form ref={form} className="stack" noValidate onSubmit={(event) => void onSubmit(event)}>
        <TextField
          label="Name"
          hint="Say what uses it and where, such as “web shop, production”."
          autoFocus
          autoComplete="off"
          maxLength={255}
          value={draft.name}
          mistake={mistakes.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <ScopeChoices
          chosen={draft.scopes}
          mistake={mistakes.scopes}
          onChange={(scopes) => change({ scopes })}
        />
        <TokenExpiry draft={draft} mistake={mistakes.date} onChange={change} />
        <TokenLimits draft={draft} vaults={vaults} mistakes={mistakes} onChange={change} />
        {problem !== undefined && !isStale && <Failed text={problem.message} />}
        <div className="row token-form-ending">
          <Link className="button" to="/secrets/tokens">
            Cancel
          </Link>
          <button type="submit" className={isStale ? "button" : "button main"} disabled={isBusy}>
            {isBusy ? "Making it…" : "Make token"}
          </button>
        </div>
      </form>
      {isStale && (
        <SignInAgain
          session={session}
          purpose="make a token"
          returnTo="/secrets/tokens?new=token"
          onLeave={() => keepDraft(draft)}
        />
      )}
    </div>
  );
}

type DraftInHand = {
  readonly draft: TokenDraft;
  readonly change: (change: Partial<TokenDraft>) => void;
  readonly mistakes: DraftMistakes;
  readonly problem: KeepProblem | undefined;
  readonly isBusy: boolean;
  /** False when something is to be put right first. */
  readonly submit: () => Promise<boolean>;
};

function useTokenDraft(onIssued: (issued: IssuedToken) => void): DraftInHand {
  const [draft, setDraft] = useState<TokenDraft>(() => takeDraft() ?? firstDraft);
  const [isTried, setTried] = useState(false);
  const { problem, isBusy, run } = useDoing();
  const found = mistakesIn(draft);
  const submit = async (): Promise<boolean> => {
    setTried(true);
    if (Object.keys(found).length > 0) {
      // What is wrong is drawn before it is looked for.
      await new Promise((resolve) => setTimeout(resolve));
      return false;
    }
    await run(async () => {
      const body = requestOf(draft);
      const issued = await ask<IssuedToken>("/api/secrets/tokens", { method: "POST", body });
      changed("/api/secrets/tokens");
      onIssued(issued.body);
    });
    return true;
  };
  return {
    draft,
    change: (change) => setDraft((before) => ({ ...before, ...change })),
    // What is typed line by line is checked while it is typed, the rest when it is sent.
    mistakes: isTried ? found : pick(found),
    problem,
    isBusy,
    submit,
  };
}

function pick({ paths, addresses }: DraftMistakes): DraftMistakes {
  return {
    ...(paths === undefined ? {} : { paths }),
    ...(addresses === undefined ? {} : { addresses }),
  };
}
