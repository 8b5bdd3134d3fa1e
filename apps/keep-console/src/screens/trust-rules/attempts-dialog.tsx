import { ErrorNotice, Loading } from "@hearth-and-keep/page-design";
import type { ExchangeAttempts, TrustRule } from "@hearth-and-keep/vault-contract";
import { Dialog, DialogActions } from "../../design/dialog.tsx";
import { useQuery } from "../../vault-api/use-query.ts";
import { AttemptList } from "./attempt-list.tsx";
import type { RuleCollection } from "./rule-collection.ts";

type AttemptsDialogProps = {
  readonly collection: RuleCollection;
  readonly rule: TrustRule;
  readonly onClose: () => void;
};

export function AttemptsDialog({ collection, rule, onClose }: AttemptsDialogProps) {
  const attempts = useQuery<ExchangeAttempts>(`${collection.apiPath}/${rule.id}/attempts`);
  return (
    <Dialog title={`Recent tokens compared with ${rule.name}`} isWide onClose={onClose}>
      {attempts.state === "loading" && <Loading lines={3} label="Loading recent tokens" />}
      {attempts.state === "failed" && <ErrorNotice text={attempts.error.message} onRetry={attempts.reload} />}
      {attempts.state === "loaded" && <AttemptList items={attempts.body.items} />}
      <DialogActions />
    </Dialog>
  );
}
