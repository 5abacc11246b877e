import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

interface PageProps {
  title: string;
  /** Shown to the right of the title. */
  actions?: ComponentChildren;
  wide?: boolean;
  /** Whether the view manages the initial focus itself. */
  ownFocus?: boolean;
  children: ComponentChildren;
}

let first = true;

/** Focuses the title after navigation, but not on the first paint. */
export function Page({ title, actions, wide = false, ownFocus = false, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · chasqui`;
    if (!first && !ownFocus) heading.current?.focus({ preventScroll: true });
    first = false;
  }, [title, ownFocus]);
  return (
    <div class={wide ? 'page wide' : 'page'}>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        <div class="row">{actions}</div>
      </header>
      {children}
    </div>
  );
}

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
}

/** Empty state of a view, with a way to continue. */
export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
