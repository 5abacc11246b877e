/** Writes log lines as JSON or as text. */

export const LOG_FORMATS = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
  on(event: 'error', listener: () => void): unknown;
}

/** Write errors drop log lines and do not stop the server. */
export function lineWriter(output: Output, format: LogFormat): (line: string) => void {
  output.on('error', () => undefined);
  const asText = format === 'text' || (format === 'auto' && output.isTTY === true);
  return asText ? (line) => void output.write(toText(line)) : (line) => void output.write(line);
}

interface Line {
  level: string;
  time: string;
  msg: string;
  id?: string;
  err?: { stack?: string; message?: string };
  method?: string;
  path?: string;
  status?: number;
  model?: string;
  error?: string;
  prompt_tokens?: number;
  cached_tokens?: number;
  completion_tokens?: number;
  finish_reason?: string;
  first_token_ms?: number;
  duration_ms?: number;
  prompt?: string;
}

/** @param line a log line in JSON */
export function toText(line: string): string {
  const fields = JSON.parse(line) as Line;
  const time = fields.time.slice(11, 19);
  if (fields.method === undefined) return `${time} ${withCause(fields)}\n`;
  const { method, path, status, model, error, finish_reason, first_token_ms, duration_ms = 0, id, prompt } = fields;
  const parts = [
    `${time} ${method} ${path} ${status}`,
    seconds(duration_ms),
    first_token_ms !== undefined && `first token ${seconds(first_token_ms)}`,
    tokens(fields),
    finish_reason,
    error,
    model,
    id,
  ];
  const shown = printable(parts.filter(Boolean).join('  '));
  return prompt === undefined ? `${shown}\n` : `${shown}\n  ${printable(JSON.stringify(prompt))}\n`;
}

function withCause({ level, msg, id, err }: Line): string {
  const head = [`${level}: ${msg}`, id].filter(Boolean).join('  ');
  const cause = err === undefined ? [] : (err.stack ?? err.message ?? '').split('\n');
  return [head, ...cause].map(printable).join('\n');
}

function tokens({ prompt_tokens, cached_tokens = 0, completion_tokens = 0 }: Line): string | null {
  if (prompt_tokens === undefined) return completion_tokens > 0 ? `${completion_tokens} tokens` : null;
  const cached = cached_tokens > 0 ? ` (${cached_tokens} cached)` : '';
  return `${prompt_tokens}${cached} + ${completion_tokens} tokens`;
}

function seconds(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Replaces control characters except tabs, so that untrusted text cannot control the terminal. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replace(/[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g, '?');
}
