/**
 * @module
 * Components that several screens of the web UI share, besides those of `page-design`, and its style sheets:
 * `theme.css` defines all colors and sizes. Every component works by keyboard and with screen readers. Nothing here
 * knows about models or chats.
 * Imported by the shell and by screens.
 */
import type { ReactNode } from "react";

export type ScreenHeaderProps = { readonly title: string; readonly children?: ReactNode };

export function ScreenHeader({ title, children }: ScreenHeaderProps) {
  return (
    <div className="screen-header">
      <h1>{title}</h1>
      {children}
    </div>
  );
}
