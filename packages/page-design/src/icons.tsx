import type { ReactNode } from "react";

/** 24 by 24 with a stroke of 1.75. Decorative: text or a label stands beside it. */
export function Icon({ children }: { readonly children: ReactNode }) {
  return (
    <svg
      viewBox="0 0 24 24"
      width="20"
      height="20"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

/** An icon made of one path. */
export function icon(path: string) {
  return () => (
    <Icon>
      <path d={path} />
    </Icon>
  );
}

export const AddIcon = icon("M12 5v14M5 12h14");
export const CloseIcon = icon("M6 6l12 12M18 6L6 18");
export const CopyIcon = icon("M9 9h11v11H9zM15 9V4H4v11h5");
export const DoneIcon = icon("M5 13l4 4L19 7");
export const WarnIcon = icon("M12 4l9 16H3zM12 10v4M12 17h.01");
