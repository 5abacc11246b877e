/** Error messages for script options that name the field. */
import type { ErrorObject } from 'ajv';
import { distance } from 'fastest-levenshtein';
import { ChasquiError } from '../../errors.js';

/** `name`: of the app, for messages. */
export function explain(
  { instancePath, keyword, params, parentSchema, data }: ErrorObject,
  name: string,
): ChasquiError {
  const at = instancePath
    .slice(1)
    .replaceAll('/', '.')
    .replaceAll(/\.(\d+)/g, '[$1]');
  if (keyword === 'required') return invalid(name, join(at, String(params.missingProperty)), 'is missing');
  if (keyword === 'additionalProperties') {
    const unknown = String(params.additionalProperty).slice(0, 100);
    const known = Object.keys((parentSchema?.properties ?? {}) as object);
    const near = nearest(unknown, known);
    const hint = near === null ? `known options: ${known.join(', ')}` : `did you mean \`${near}\`?`;
    return invalid(name, join(at, unknown), `is not an option; ${hint}`);
  }
  return invalid(name, at, `is ${shown(data)}, but must be ${String(parentSchema?.description)}`);
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}

export function invalid(app: string, field: string, problem: string): ChasquiError {
  const end = problem.endsWith('?') ? '' : '.';
  return new ChasquiError('script_invalid', `\`${field}\` of the app ${app} ${problem}${end}`, field);
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}

function nearest(name: string, known: readonly string[]): string | null {
  const ranked = known.map((each) => ({ each, changes: distance(name.toLowerCase(), each.toLowerCase()) }));
  const best = ranked.sort((one, other) => one.changes - other.changes)[0];
  return best !== undefined && best.changes <= Math.max(1, name.length / 3) ? best.each : null;
}
