import type { ComponentChildren, RefObject } from 'preact';

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
