import { AddIcon } from "@hearth-and-keep/page-design";
import type { ReactNode } from "react";

export type SectionBarProps = {
  /** What the tab shows, in one line. */
  readonly text: string;
  readonly action?: ReactNode;
};

/** The first line of a tab, with the tab's main action. */
export function SectionBar({ text, action }: SectionBarProps) {
  return (
    <div className="section-bar">
      <p className="muted">{text}</p>
      {action}
    </div>
  );
}

export type AddButtonProps = { readonly label: string; readonly onClick: () => void };

export function AddButton({ label, onClick }: AddButtonProps) {
  return (
    <button type="button" className="button primary" onClick={onClick}>
      <AddIcon />
      {label}
    </button>
  );
}
