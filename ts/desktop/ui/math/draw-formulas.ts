/** Replaces the TeX in a page with MathML. */
import DOMPurify from 'dompurify';
import { TEX } from './in-markdown.js';

let renderer: typeof import('./formula.js') | undefined;

/** Draws the formulas below an element; invalid ones stay as they were written. Loads the renderer on first use. */
export function drawFormulas(place: HTMLElement): void {
  const sources = place.querySelectorAll(`code[encoding="${TEX}"]`);
  if (sources.length === 0) return;
  if (!renderer) {
    void import('./formula.js').then((module) => {
      renderer = module;
      drawFormulas(place);
    });
    return;
  }
  for (const source of sources) {
    const node = renderer.parseFormula(texOf(source.textContent), source.hasAttribute('display'))?.toNode();
    if (node) source.replaceWith(sanitised(node as Element));
    else source.removeAttribute('encoding');
  }
}

/** Removes the delimiters. */
function texOf(source: string): string {
  const width = /^\$(?!\$)/.test(source) ? 1 : 2;
  return source.slice(width, -width).trim();
}

/** temml sets styles as properties, which the content policy allows; sanitising in place keeps them. */
function sanitised(math: Element): Element {
  const holder = document.createElement('span');
  holder.append(math);
  DOMPurify.sanitize(holder, {
    IN_PLACE: true,
    USE_PROFILES: { mathMl: true },
    ADD_TAGS: ['span'],
    ADD_ATTR: ['class', 'style'],
  });
  return holder;
}
