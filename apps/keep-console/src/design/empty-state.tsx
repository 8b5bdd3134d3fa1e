import type { ReactNode } from "react";

export type EmptyStateProps = {
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
};

export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <div className="card empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}
