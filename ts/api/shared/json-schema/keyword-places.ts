/** Finds keywords in a JSON Schema. */

/** The schema's author names their members; their values are schemas. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Their values are data. */
const DATA = new Set(['const', 'enum', 'default', 'examples']);

/** Returns the places of `keywords`, such as `<path>.properties.a.pattern`; `max` at most. The depth must be limited. */
export function placesOf(keywords: ReadonlySet<string>, schema: object, path: string, max: number): string[] {
  const found: string[] = [];
  const visit = (value: unknown, at: string, isSchema: boolean): void => {
    if (typeof value !== 'object' || value === null || found.length >= max) return;
    for (const [key, each] of Object.entries(value)) {
      const place = Array.isArray(value) ? `${at}[${key}]` : `${at}.${key}`;
      if (isSchema && keywords.has(key) && found.length < max) found.push(place);
      if (!isSchema || !DATA.has(key)) visit(each, place, !(isSchema && NAMED.has(key)));
    }
  };
  visit(schema, path, true);
  return found;
}
