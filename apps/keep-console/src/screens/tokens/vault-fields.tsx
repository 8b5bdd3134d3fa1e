import type { Vault } from "@hearth-and-keep/vault-contract";
import { CheckboxField, SelectField } from "../../design/field.tsx";

export type VaultFieldsProps = {
  readonly selected: "all" | readonly string[];
  readonly vaults: readonly Vault[];
  /** Whether all vaults, also later ones, can be chosen; true by default. */
  readonly allowsAll?: boolean;
  readonly error: string | undefined;
  readonly onChange: (selected: "all" | readonly string[]) => void;
};

/** All vaults, or some of them. */
export function VaultFields(props: VaultFieldsProps) {
  const { selected, vaults, allowsAll = true, error, onChange } = props;
  return (
    <div className="stack tight">
      <SelectField
        label="Vaults"
        value={selected === "all" ? "all" : "some"}
        error={error}
        options={[
          ...(allowsAll ? [{ value: "all", label: "All current and future vaults" }] : []),
          { value: "some", label: "Selected vaults" },
        ]}
        onChange={(value) => onChange(value === "all" ? "all" : [])}
      />
      {selected !== "all" && (
        <fieldset className="vault-fields">
          <legend className="visually-hidden">Selected vaults</legend>
          {vaults.map(({ id, name }) => (
            <CheckboxField
              key={id}
              label={<span className="break-words">{name}</span>}
              isChecked={selected.includes(id)}
              onChange={(isChecked) =>
                onChange(isChecked ? [...selected, id] : selected.filter((other) => other !== id))
              }
            />
          ))}
        </fieldset>
      )}
    </div>
  );
}
