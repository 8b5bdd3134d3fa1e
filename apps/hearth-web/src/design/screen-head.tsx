/**
 * @module
 * What screens of Hearth's page are made of besides what both pages share: the parts that two of them share, and the
 * page's own colours and sizes (`look.css`). Promises that each part works by keyboard and is understood by a screen
 * reader. Knows nothing of models or chats.
 * Imported by the shell and by screens.
 */
import type { ReactNode } from "react";

export type HeadProps = { readonly title: string; readonly children?: ReactNode };

export function ScreenHead({ title, children }: HeadProps) {
  return (
    <div className="screen-head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}
