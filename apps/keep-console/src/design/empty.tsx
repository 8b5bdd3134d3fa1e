import type { ReactNode } from "react";

export type EmptyProps = {
  readonly title: string;
  readonly children: ReactNode;
  readonly action?: ReactNode;
};

/** Nothing is here yet, and what to do about it. */
export function Empty({ title, children, action }: EmptyProps) {
  return (
    <div className="card empty">
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}
