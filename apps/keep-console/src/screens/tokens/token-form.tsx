import { ErrorNotice, Link } from "@hearth-and-keep/page-design";
import type { Session, Vault } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useRef, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { RadioGroup } from "../../design/radio-group.tsx";
import { requiresFreshSignIn, SignInAgain } from "../../shell/sign-in-again.tsx";
import { type ApiError, request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { IssuedToken } from "./issued-token.tsx";
import { ScopeFields } from "./scope-fields.tsx";
import type { TokenCollection } from "./token-collection.ts";
import {
  type DraftErrors,
  initialDraft,
  restoreDraft,
  storeDraft,
  type TokenDraft,
  toRequestBody,
  validateDraft,
} from "./token-draft.ts";
import { TokenExpiry } from "./token-expiry.tsx";
import { TokenRestrictions } from "./token-restrictions.tsx";

export type TokenFormProps = {
  readonly session: Session;
  readonly collection: TokenCollection;
  readonly vaults: readonly Vault[];
  readonly onIssued: (issued: IssuedToken) => void;
};

/** All properties of a new token; the server generates its value. */
export function TokenForm({ session, collection, vaults, onIssued }: TokenFormProps) {
  const { draft, change, fieldErrors, error, isBusy, submit } = useTokenForm(collection, onIssued);
  const form = useRef<HTMLFormElement>(null);
  const onSubmit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!(await submit())) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  };
  const needsSignIn = requiresFreshSignIn(error);
  return (
    <div className="stack token-form">
      <form ref={form} className="stack" noValidate onSubmit={(event) => void onSubmit(event)}>
        <TextField
          label="Name"
          hint="What uses it and where, e.g. “web shop, production”"
          autoFocus
          autoComplete="off"
          maxLength={255}
          value={draft.name}
          error={fieldErrors.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <HolderField {...{ collection, draft }} onChange={change} />
        <ScopeFields
          chosen={draft.scopes}
          error={fieldErrors.scopes}
          onChange={(scopes) => change({ scopes })}
        />
        <TokenExpiry draft={draft} error={fieldErrors.date} onChange={change} />
        <TokenRestrictions draft={draft} vaults={vaults} errors={fieldErrors} onChange={change} />
        {error !== undefined && !needsSignIn && <ErrorNotice text={error.message} />}
        <div className="row form-actions">
          <Link className="button" to={collection.href}>
            Cancel
          </Link>
          <button type="submit" className={needsSignIn ? "button" : "button primary"} disabled={isBusy}>
            {isBusy ? "Creating…" : "Create token"}
          </button>
        </div>
      </form>
      {needsSignIn && (
        <SignInAgain
          session={session}
          purpose="create a token"
          returnTo={`${collection.href}?new=token`}
          onLeave={() => storeDraft(collection, draft)}
        />
      )}
    </div>
  );
}

type HolderFieldProps = Pick<TokenFormProps, "collection"> & {
  readonly draft: TokenDraft;
  readonly onChange: (change: Partial<TokenDraft>) => void;
};

function HolderField({ collection: { holders = [] }, draft, onChange }: HolderFieldProps) {
  if (holders.length < 2) return null;
  return (
    <RadioGroup
      legend="Token for"
      value={draft.holder}
      options={holders}
      // A token of the organisation cannot have vaults that its creator does not manage yet.
      onChange={(holder) =>
        onChange({ holder, ...(holder === "organisation" && draft.vaults === "all" ? { vaults: [] } : {}) })
      }
    />
  );
}

type TokenFormState = {
  readonly draft: TokenDraft;
  readonly change: (change: Partial<TokenDraft>) => void;
  readonly fieldErrors: DraftErrors;
  readonly error: ApiError | undefined;
  readonly isBusy: boolean;
  /** Resolves to false when the form has errors. */
  readonly submit: () => Promise<boolean>;
};

function useTokenForm(collection: TokenCollection, onIssued: (issued: IssuedToken) => void): TokenFormState {
  const [draft, setDraft] = useState<TokenDraft>(() => restoreDraft(collection) ?? initialDraft);
  const [isSubmitted, setIsSubmitted] = useState(false);
  const { error, isBusy, run } = useMutation();
  const allErrors = validateDraft(draft);
  const submit = async (): Promise<boolean> => {
    setIsSubmitted(true);
    if (Object.keys(allErrors).length > 0) {
      // Lets React render the errors before the caller focuses the first one.
      await new Promise((resolve) => setTimeout(resolve));
      return false;
    }
    await run(async () => {
      const body = toRequestBody(draft, collection);
      const issued = await request<IssuedToken>(collection.apiPath, { method: "POST", body });
      invalidate(collection.apiPath);
      onIssued(issued.body);
    });
    return true;
  };
  return {
    draft,
    change: (change) => setDraft((before) => ({ ...before, ...change })),
    // Paths and addresses are validated while typing, the other fields on submit.
    fieldErrors: isSubmitted ? allErrors : whileTyping(allErrors),
    error,
    isBusy,
    submit,
  };
}

function whileTyping({ paths, addresses }: DraftErrors): DraftErrors {
  return {
    ...(paths === undefined ? {} : { paths }),
    ...(addresses === undefined ? {} : { addresses }),
  };
}
