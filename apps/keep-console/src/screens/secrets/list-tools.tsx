import type { SecretSort } from "@hearth-and-keep/vault-contract";
import type { ReactNode } from "react";
import { Breadcrumbs } from "./breadcrumbs.tsx";
import { navigateTo, type SecretsLocation, sorts } from "./secrets-location.ts";

const sortLabels: Readonly<Record<SecretSort, string>> = {
  name: "Name, A to Z",
  "-name": "Name, Z to A",
  "-updated": "Last changed first",
  updated: "Longest unchanged first",
  "-created": "Newest first",
  created: "Oldest first",
};

export type ListToolsProps = { readonly location: SecretsLocation; readonly children?: ReactNode };

/** The row above the list: where it is, and how it is shown. */
export function ListTools({ location, children }: ListToolsProps) {
  return (
    <div className="list-tools">
      <Breadcrumbs location={location} />
      <div className="row">
        {children}
        {!location.isDeleted && (
          <select
            className="input small"
            aria-label="Sort"
            value={location.sort}
            onChange={({ currentTarget: { value } }) => {
              const sort = sorts.find((name) => name === value);
              if (sort !== undefined) navigateTo(location, { sort }, true);
            }}
          >
            {sorts.map((name) => (
              <option key={name} value={name}>
                {sortLabels[name]}
              </option>
            ))}
          </select>
        )}
      </div>
    </div>
  );
}
