import type { ComponentChildren, RefObject } from 'preact';

interface ScrollRegionProps {
  label: string;
  class?: string;
  place?: RefObject<HTMLElement | null>;
  onScroll?: () => void;
  children: ComponentChildren;
}

/** A part of the page that scrolls by itself: it has a name, and the keyboard reaches it. */
export function ScrollRegion({ label, class: name, place, onScroll, children }: ScrollRegionProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
    <section ref={place ?? null} class={name} aria-label={label} onScroll={onScroll} tabIndex={0}>
      {children}
    </section>
  );
}
