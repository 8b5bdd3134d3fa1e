import { ErrorNotice, Link, navigate } from "@hearth-and-keep/page-design";
import type { Session, TrustRule, Vault } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useRef, useState } from "react";
import { TextField } from "../../design/field.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { MutationError } from "../../shell/mutation-error.tsx";
import { requiresFreshSignIn } from "../../shell/sign-in-again.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { ScopeFields } from "../tokens/scope-fields.tsx";
import { ConditionFields } from "./condition-fields.tsx";
import { IssuerFields } from "./issuer-fields.tsx";
import type { RuleCollection } from "./rule-collection.ts";
import {
  newDraft,
  type RuleDraft,
  restoreDraft,
  storeDraft,
  toChanges,
  toDraft,
  toNewRule,
  validateRule,
} from "./rule-draft.ts";
import { RulePreview } from "./rule-preview.tsx";
import { RuleRestrictions } from "./rule-restrictions.tsx";

export type RuleFormProps = {
  readonly session: Session;
  readonly collection: RuleCollection;
  readonly vaults: readonly Vault[];
  /** Undefined for a new rule. */
  readonly rule: TrustRule | undefined;
};

export function RuleForm({ session, collection, vaults, rule }: RuleFormProps) {
  const [draft, setDraft] = useState<RuleDraft>(
    () =>
      restoreDraft(collection, rule) ?? (rule === undefined ? newDraft("github", collection) : toDraft(rule)),
  );
  const [isSubmitted, setIsSubmitted] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const { error, isBusy, save } = useSaveRule(collection, rule);
  const allErrors = validateRule(draft);
  const errors = isSubmitted ? allErrors : {};
  const change = (changed: Partial<RuleDraft>): void => setDraft((before) => ({ ...before, ...changed }));
  const validate = (): boolean => {
    setIsSubmitted(true);
    const isValid = Object.keys(allErrors).length === 0;
    // After React has rendered the errors.
    if (!isValid)
      setTimeout(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
    return isValid;
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (validate()) save(draft);
  };
  return (
    <div className="stack token-form">
      <form ref={form} className="stack" noValidate onSubmit={submit}>
        <TextField
          label="Name"
          hint="What uses it, e.g. “deploy production”"
          autoComplete="off"
          maxLength={255}
          value={draft.name}
          error={errors.name}
          onChange={(event) => change({ name: event.currentTarget.value })}
        />
        <IssuerFields {...{ draft, errors }} onChange={setDraft} />
        <ConditionFields
          draft={draft}
          error={errors.conditions}
          onChange={(conditions) => change({ conditions })}
        />
        <ScopeFields chosen={draft.scopes} error={errors.scopes} onChange={(scopes) => change({ scopes })} />
        <RuleRestrictions {...{ collection, draft, vaults, errors }} onChange={change} />
        <RulePreview collection={collection} draft={draft} validate={validate} />
        <FormActions
          href={collection.href}
          isNew={rule === undefined}
          isBusy={isBusy || requiresFreshSignIn(error)}
        />
      </form>
      <SaveError {...{ session, error }} onLeave={() => storeDraft(collection, { rule, draft })} />
    </div>
  );
}

type SaveErrorProps = Pick<Parameters<typeof MutationError>[0], "session" | "error"> & {
  readonly onLeave: () => void;
};

function SaveError({ session, error, onLeave }: SaveErrorProps) {
  return error?.code === "out_of_reach" ? (
    <ErrorNotice
      text="This rule would grant more than you have."
      nextStep="Choose vaults that you manage, or first grant yourself access: open the vault and press Access."
    />
  ) : (
    <MutationError {...{ session, error, onLeave }} purpose="save trust rules" />
  );
}

type FormActionsProps = { readonly href: string; readonly isNew: boolean; readonly isBusy: boolean };

function FormActions({ href, isNew, isBusy }: FormActionsProps) {
  return (
    <div className="row form-actions">
      {!isNew && (
        <span className="muted small grow">Changes of anything but the name revoke the rule's tokens.</span>
      )}
      <Link className="button" to={href}>
        Cancel
      </Link>
      <button type="submit" className="button primary" disabled={isBusy}>
        {isNew ? "Create trust rule" : "Save"}
      </button>
    </div>
  );
}

function useSaveRule({ apiPath, href }: RuleCollection, rule: TrustRule | undefined) {
  const { error, isBusy, run } = useMutation();
  const { showToast } = useToasts();
  const save = (draft: RuleDraft): void =>
    void run(async () => {
      if (rule === undefined) {
        await request(apiPath, { method: "POST", body: toNewRule(draft) });
      } else {
        const body = toChanges(draft, rule);
        if (Object.keys(body).length > 0) await request(`${apiPath}/${rule.id}`, { method: "PATCH", body });
      }
      invalidate(apiPath);
      showToast(rule === undefined ? "Trust rule created" : "Trust rule saved");
      navigate(href);
    });
  return { error, isBusy, save };
}
