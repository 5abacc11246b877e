/** Formats metric families as Prometheus text, version 0.0.4. */

/** The content type that goes with the text. */
export const EXPOSITION_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export type FamilyKind = 'counter' | 'gauge' | 'histogram';

/** One number of a family, with the labels that distinguish it from the others. */
export interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
  /** Histograms append `_bucket`, `_sum` or `_count` to the family's name. */
  suffix?: string;
}

export interface Family {
  /** The full name, including the prefix. */
  name: string;
  kind: FamilyKind;
  help: string;
  samples: readonly Sample[];
}

/** Leaves out families without samples. */
export function toExposition(families: Iterable<Family>): string {
  let text = '';
  for (const { name, kind, help, samples } of families) {
    if (samples.length === 0) continue;
    text += `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n`;
    for (const { labels, value, suffix = '' } of samples) {
      text += `${name}${suffix}${labelText(labels)} ${numberText(value)}\n`;
    }
  }
  return text;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/** Model names come from files and options, so they may contain any character. */
function escapeLabel(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

function escapeHelp(text: string): string {
  return text.replace(/\\/g, '\\\\').replace(/\n/g, '\\n');
}

function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value === Number.NEGATIVE_INFINITY) return '-Inf';
  return String(value);
}
