import { ErrorNotice } from "@hearth-and-keep/page-design";
import type { FolderComparison, Session, VaultDetail } from "@hearth-and-keep/vault-contract";
import { type FormEvent, useRef, useState } from "react";
import { SelectField } from "../../design/field.tsx";
import { request } from "../../vault-api/api-client.ts";
import { useMutation } from "../../vault-api/use-mutation.ts";
import { invalidate } from "../../vault-api/use-query.ts";
import { formatQuery, vaultPath } from "../secrets/api-paths.ts";
import { useAccess } from "../secrets/vault-access.ts";
import { ComparisonView } from "./comparison-view.tsx";
import { PromoteDialog } from "./promote-dialog.tsx";

type CompareEnvironmentsProps = { readonly session: Session; readonly vault: VaultDetail };

/** Runs after the dialog has tried to restore the focus. */
const focusMilliseconds = 100;

/** Compares on request only: each comparison decrypts values and is recorded in the audit log. */
export function CompareEnvironments({ session, vault }: CompareEnvironmentsProps) {
  const { environments } = vault;
  const [left, setLeft] = useState(environments.at(-2) ?? "");
  const [right, setRight] = useState(environments.at(-1) ?? "");
  const [comparison, setComparison] = useState<FolderComparison>();
  const [isPromoting, setIsPromoting] = useState(false);
  const { isBusy, error, run } = useMutation();
  const { allows } = useAccess();
  const compareButton = useRef<HTMLButtonElement>(null);
  const options = environments.map((name) => ({ value: name, label: name }));
  const choose = (set: (name: string) => void) => (name: string) => {
    set(name);
    setComparison(undefined);
  };
  const compare = (event: FormEvent): void => {
    event.preventDefault();
    const query = formatQuery({ left: `/${left}`, right: `/${right}` });
    void run(async () => {
      setComparison((await request<FolderComparison>(`${vaultPath(vault.id)}/compare${query}`)).body);
    });
  };
  if (!allows("secrets:read")) return null;
  return (
    <section className="card padded stack" aria-label="Compare environments">
      <form className="compare-fields" onSubmit={compare}>
        <SelectField label="Compare" value={left} options={options} onChange={choose(setLeft)} />
        <SelectField label="With" value={right} options={options} onChange={choose(setRight)} />
        <button ref={compareButton} type="submit" className="button" disabled={isBusy || left === right}>
          {isBusy ? "Comparing…" : "Compare"}
        </button>
      </form>
      {error !== undefined && <ErrorNotice text={error.message} />}
      <div className="live" aria-live="polite">
        {comparison !== undefined && <ComparisonView {...{ comparison, left, right }} />}
      </div>
      {comparison !== undefined && allows("secrets:write") && (
        <div>
          <button type="button" className="button" onClick={() => setIsPromoting(true)}>
            Promote {left} to {right}…
          </button>
        </div>
      )}
      {isPromoting && (
        <PromoteDialog
          {...{ session, left, right }}
          vaultId={vault.id}
          onPromoted={() => {
            setIsPromoting(false);
            setComparison(undefined);
            invalidate(vaultPath(vault.id));
            // The button that opened the dialog goes with the comparison.
            setTimeout(() => compareButton.current?.focus(), focusMilliseconds);
          }}
          onClose={() => setIsPromoting(false)}
        />
      )}
    </section>
  );
}
