import { type ReactNode, useEffect, useRef } from "react";

export type MainProps = {
  /** Of the place, with the product's name; it is the window's title as well. */
  readonly title: string;
  readonly className?: string;
  readonly children: ReactNode;
};

/** The main part of a page, where `SkipLink` leads. It takes the focus when the place changes. */
export function Main({ title, className, children }: MainProps) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = title;
    // Whoever reads with a screen reader is told of the new place; the first one the browser tells itself.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [title]);
  return (
    <main id="main" ref={main} tabIndex={-1} className={className}>
      {children}
    </main>
  );
}

/** The first thing the Tab key comes to. */
export function SkipLink() {
  return (
    <a className="button skip" href="#main">
      Skip to content
    </a>
  );
}
