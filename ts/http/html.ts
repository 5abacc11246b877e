/** HTML templates that escape all values except the results of other templates. */

export class Html {
  constructor(readonly text: string) {}
}

/** Null, undefined and false render as nothing. */
export type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Attributes are always quoted, so escaping quotes and brackets is sufficient. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(String.raw({ raw: strings }, ...parts.map(textOf)));
}

function textOf(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
