import type { ChangeSummary } from "@hearth-and-keep/vault-contract";
import { stateLabels } from "./describe-change.ts";

export function ChangeState({ state }: Pick<ChangeSummary, "state">) {
  return <span className={state === "approved" ? "badge success" : "badge"}>{stateLabels[state]}</span>;
}
