import type { TrustRule } from "@hearth-and-keep/vault-contract";
import { ConfirmDialog } from "../../design/confirm-dialog.tsx";
import { useToasts } from "../../design/toasts.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import type { RuleCollection } from "./rule-collection.ts";

type DeleteRuleProps = {
  readonly collection: RuleCollection;
  readonly rule: TrustRule;
  readonly onClose: () => void;
};

export function DeleteRule({ collection: { apiPath }, rule, onClose }: DeleteRuleProps) {
  const mutation = useMutation();
  const { showToast } = useToasts();
  const deleteRule = async (): Promise<void> => {
    await request(`${apiPath}/${rule.id}`, { method: "DELETE" });
    invalidate(apiPath);
    onClose();
    showToast(`${rule.name} deleted`);
  };
  return (
    <ConfirmDialog
      title={`Delete the trust rule ${rule.name}?`}
      action="Delete rule"
      mutation={mutation}
      onConfirm={() => void mutation.run(deleteRule)}
      onClose={onClose}
    >
      Jobs that use it get no more tokens, and the tokens that they have are revoked at once. This cannot be
      undone.
    </ConfirmDialog>
  );
}
