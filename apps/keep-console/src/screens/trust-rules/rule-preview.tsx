import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { ExchangeAttempts } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { AttemptList } from "./attempt-list.tsx";
import type { RuleCollection } from "./rule-collection.ts";
import { type RuleDraft, toNewRule } from "./rule-draft.ts";

type RulePreviewProps = {
  readonly collection: RuleCollection;
  readonly draft: RuleDraft;
  /** False when the form has errors, which are shown then. */
  readonly validate: () => boolean;
};

/** Compares the rule, before it is saved, with the last tokens that workloads presented. */
export function RulePreview({ collection, draft, validate }: RulePreviewProps) {
  const [attempts, setAttempts] = useState<ExchangeAttempts>();
  const { isBusy, error, run } = useMutation();
  const preview = (): void => {
    if (!validate()) return;
    void run(async () => {
      const options = { method: "POST", body: toNewRule(draft) } as const;
      setAttempts((await request<ExchangeAttempts>(`${collection.apiPath}/preview`, options)).body);
    });
  };
  return (
    <section className="card padded stack" aria-labelledby="rule-preview">
      <div className="row spread">
        <div>
          <h2 id="rule-preview">Recent tokens</h2>
          <p className="muted">Which of the last presented tokens the rule matches. Nothing is changed.</p>
        </div>
        <button type="button" className="button" disabled={isBusy} onClick={preview}>
          {isBusy ? "Comparing…" : "Compare"}
        </button>
      </div>
      {error !== undefined && <ErrorNotice text={error.message} />}
      <div className="live" aria-live="polite">
        {attempts !== undefined && <AttemptList items={attempts.items} />}
      </div>
    </section>
  );
}
