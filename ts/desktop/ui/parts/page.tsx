/** Frame of a view: title, empty state, error boundary, scrollable regions. */

import { Component, type ComponentChildren, type RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { t } from '../state/language.js';

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

/** Error boundary: shows the error of a view in its place. Resets when `name` changes. */
export class Boundary extends Component<{ name: string; children: ComponentChildren }, { error: Error | null }> {
  override state = { error: null };

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate(previous: { name: string }): void {
    if (previous.name !== this.props.name && this.state.error) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state as { error: Error | null };
    if (!error) return this.props.children;
    return (
      <div class="empty" role="alert">
        <p class="empty-title">{t('viewFailed')}</p>
        <p>{error.message}</p>
        <button type="button" onClick={() => location.reload()}>
          {t('reloadPage')}
        </button>
      </div>
    );
  }
}

interface ScrollRegionProps {
  label: string;
  class?: string;
  place?: RefObject<HTMLElement | null>;
  onScroll?: () => void;
  children: ComponentChildren;
}

/** A named scrollable region that the keyboard can reach. */
export function ScrollRegion({ label, class: name, place, onScroll, children }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard.
    <section ref={place ?? null} class={name} aria-label={label} onScroll={onScroll} tabIndex={0}>
      {children}
    </section>
  );
}
