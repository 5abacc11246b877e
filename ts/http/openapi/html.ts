/** HTML from templates: what is filled in is escaped, unless it is HTML itself. */

export class Html {
  constructor(readonly text: string) {}
}

type Filling = string | number | Html | readonly Html[];

export function html(parts: TemplateStringsArray, ...fillings: Filling[]): Html {
  return new Html(parts.reduce((text, part, index) => text + show(fillings[index - 1] as Filling) + part));
}

function show(filling: Filling): string {
  if (filling instanceof Html) return filling.text;
  if (Array.isArray(filling)) return filling.map(({ text }: Html) => text).join('');
  return String(filling).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Text with `code` in it. */
export function prose(text: string): Html {
  const parts = text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
  return html`${parts}`;
}
