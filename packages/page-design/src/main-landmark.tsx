import { type ReactNode, useEffect, useRef } from "react";

export type MainLandmarkProps = {
  /** Screen title followed by the product name; also the document title. */
  readonly title: string;
  readonly className?: string;
  readonly children: ReactNode;
};

/** The `<main>` element, target of `SkipLink`. It takes the focus when the title, and so the screen, changes. */
export function MainLandmark({ title, className, children }: MainLandmarkProps) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = title;
    // Moving the focus makes screen readers announce the new screen; they announce the first page load by themselves.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [title]);
  return (
    <main id="main" ref={main} tabIndex={-1} className={className}>
      {children}
    </main>
  );
}

/** The first tab stop of the page. */
export function SkipLink() {
  return (
    <a className="button skip" href="#main">
      Skip to content
    </a>
  );
}
