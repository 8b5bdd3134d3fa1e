import { AddIcon, ErrorNotice, Link, Loading, navigate } from "@hearth-and-keep/page-design";
import type { Session, TrustRule, Vault } from "@hearth-and-keep/vault-contract";
import { useState } from "react";
import { CodeBlock } from "../../design/code-block.tsx";
import { EmptyState } from "../../design/empty-state.tsx";
import { AttemptsDialog } from "./attempts-dialog.tsx";
import { DeleteRule } from "./delete-rule.tsx";
import type { RuleCollection } from "./rule-collection.ts";
import { RuleForm } from "./rule-form.tsx";
import { RuleList } from "./rule-list.tsx";
import type { RulesState } from "./use-rules.ts";

export type RulesViewProps = {
  readonly session: Session;
  readonly collection: RuleCollection;
  readonly rules: RulesState;
  readonly vaults: readonly Vault[];
};

/** The form if the URL asks for it, otherwise the list. The caller renders the heading. */
export function RulesView({ session, collection, rules, vaults }: RulesViewProps) {
  const { query, edited, isForm } = rules;
  if (isForm)
    return <RuleForm key={edited?.id ?? "new"} {...{ session, collection, vaults }} rule={edited} />;
  switch (query.state) {
    case "loading":
      return <Loading label="Loading trust rules" />;
    case "failed":
      return <ErrorNotice text={query.error.message} onRetry={query.reload} />;
    case "loaded":
      return <Rules {...{ collection, vaults }} {...query.body} />;
  }
}

export function NewRuleLink({ collection }: Pick<RulesViewProps, "collection">) {
  return (
    <Link className="button primary" to={`${collection.href}?new=rule`}>
      <AddIcon />
      New trust rule
    </Link>
  );
}

type RulesProps = Pick<RulesViewProps, "collection" | "vaults"> & {
  readonly items: readonly TrustRule[];
  readonly audience: string;
};

function Rules({ collection, items, audience, vaults }: RulesProps) {
  const [dialog, setDialog] = useState<{ readonly kind: "attempts" | "delete"; readonly rule: TrustRule }>();
  const close = (): void => setDialog(undefined);
  return (
    <div className="stack">
      {items.length === 0 ? (
        <EmptyState title="No trust rules yet" action={<NewRuleLink collection={collection} />}>
          A trust rule says which jobs or pods may get a token, by what their platform certifies about them: a
          repository, a project, or a service account.
        </EmptyState>
      ) : (
        <RuleList
          {...{ items, vaults }}
          onEdit={({ id }) => navigate(`${collection.href}?edit=${id}`)}
          onAttempts={(rule) => setDialog({ kind: "attempts", rule })}
          onDelete={(rule) => setDialog({ kind: "delete", rule })}
        />
      )}
      <CodeBlock label="Audience to request tokens for" text={audience} />
      {dialog?.kind === "attempts" && (
        <AttemptsDialog {...{ collection }} rule={dialog.rule} onClose={close} />
      )}
      {dialog?.kind === "delete" && <DeleteRule {...{ collection }} rule={dialog.rule} onClose={close} />}
    </div>
  );
}
