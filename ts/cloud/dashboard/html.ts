/** Pages are built of templates that escape whatever is put into them, unless it is the result of another template. */

/** Text that is HTML already. */
export class Html {
  constructor(readonly text: string) {}
}

/** What a template takes: nothing is shown of null, undefined and false. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Every attribute in a template has quotes around it, so escaping quotes and brackets is enough. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)));
}

function textOf(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return escapeText(String(part));
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' },
};

function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => ESCAPES[character] as string);
}
