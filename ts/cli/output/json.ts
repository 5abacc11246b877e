/** JSON for programs: names in snake_case, times in ISO 8601. */

const CAMEL_CASE = /^[a-z]+([A-Z][a-z\d]*)+$/;
/** Names of times; those of the HTTP API are `created` and `expires_at`. */
const TIME = /^at$|[a-z]At$/;
/** JSON.stringify does not escape C1 control characters, which some terminals interpret. */
const CONTROL = /[\u007f-\u009f]/g;

export function toJson(value: unknown, indent?: number): string {
  const escaped = (character: string) => `\\u00${character.charCodeAt(0).toString(16)}`;
  return JSON.stringify(withPlainNames(value), null, indent).replaceAll(CONTROL, escaped);
}

function withPlainNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withPlainNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const isTime = TIME.test(name) && Number.isSafeInteger(each);
      return [toSnakeCase(name), isTime ? toIsoTime(each) : withPlainNames(each)];
    }),
  );
}

/** Times before 1973 in milliseconds are taken for seconds. */
function toIsoTime(time: number): string {
  return new Date(time < 1e11 ? time * 1000 : time).toISOString();
}

/** Leaves names of models and files alone. */
function toSnakeCase(name: string): string {
  return CAMEL_CASE.test(name) ? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : name;
}
