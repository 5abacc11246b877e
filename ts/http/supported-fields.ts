/** Separates the fields of a body that the mode supports from the others. */

export interface SupportedFields {
  /** The body with supported fields only, and without those that are `null`: null means absent. */
  body: Record<string, unknown>;
  /** The names of the others, in the body's order; those that are `null` ask for nothing and are not named. */
  ignored: string[];
}

export function pickSupported(sent: Readonly<Record<string, unknown>>, parameters: readonly string[]) {
  const known: ReadonlySet<string> = new Set(parameters);
  const picked: SupportedFields = { body: {}, ignored: [] };
  for (const [name, value] of Object.entries(sent)) {
    if (value === null) continue;
    if (known.has(name)) picked.body[name] = value;
    else picked.ignored.push(name);
  }
  return picked;
}

/** Names that other modes, protocols and servers have for the same fields. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  repeat_penalty: ['repetition_penalty'],
  repetition_penalty: ['repeat_penalty'],
  max_tokens: ['max_output_tokens'],
  max_completion_tokens: ['max_output_tokens', 'max_tokens'],
  max_output_tokens: ['max_tokens'],
  max_new_tokens: ['max_tokens', 'max_output_tokens'],
  n_predict: ['max_tokens', 'max_output_tokens'],
  stop: ['stop_sequences'],
  stop_sequences: ['stop'],
  timings_per_token: ['timings'],
  messages: ['input'],
  input: ['messages'],
};

/** The parameter that `name` was most likely meant to be, or null when nothing is near. */
export function nearestParameter(name: string, parameters: readonly string[]): string | null {
  // A body may well have a field called `constructor`.
  const synonyms = Object.hasOwn(SYNONYMS, name) ? SYNONYMS[name] : undefined;
  const synonym = synonyms?.find((parameter) => parameters.includes(parameter));
  if (synonym) return synonym;
  if (name.length > 40) return null;
  let nearest: string | null = null;
  let smallest = Math.floor((name.length - 1) * 0.4) + 1;
  for (const parameter of parameters) {
    const distance = editDistance(name.toLowerCase(), parameter);
    if (distance < smallest) {
      smallest = distance;
      nearest = parameter;
    }
  }
  return nearest;
}

/** The Levenshtein distance, computed row by row. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
