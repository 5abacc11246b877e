/** Sandboxed frames without network access for the code of models. See routes/sandbox.ts. */
import { t } from './language.js';

const MAX_CHARACTERS = 65_536;
const MAX_MS = 10_000;

const WORKER = `
const lines = [];
const show = (value) => {
  if (typeof value === 'string') return value;
  try {
    return value instanceof Error ? String(value) : (JSON.stringify(value) ?? String(value));
  } catch {
    return String(value);
  }
};
const print = (...values) => void lines.push(values.map(show).join(' '));
for (const name of ['log', 'info', 'warn', 'error', 'debug']) console[name] = print;
const AsyncFunction = (async () => {}).constructor;
const compile = (code) => {
  try {
    return new AsyncFunction('return (' + code + '\\n)');
  } catch {
    return new AsyncFunction(code);
  }
};
onmessage = async ({ data: code }) => {
  let error;
  try {
    const value = await compile(code)();
    if (value !== undefined) print(value);
  } catch (problem) {
    error = String(problem);
  }
  postMessage({ output: lines.join('\\n').slice(0, ${MAX_CHARACTERS}), error });
};`;

/** Returns a frame that gets `order` once it is loaded, and is removed when `signal` aborts. `take` gets its messages. */
export function sandboxFrame(
  title: string,
  order: object,
  signal: AbortSignal,
  take?: (data: unknown) => void,
): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = title;
  frame.src = '/sandbox';
  let isReady = false;
  const receive = ({ data, source }: MessageEvent) => {
    if (source !== frame.contentWindow) return;
    // Later messages come from the code, also another `ready`.
    if (isReady) return take?.(data);
    isReady = true;
    frame.contentWindow?.postMessage(order, '*');
  };
  addEventListener('message', receive, { signal });
  signal.addEventListener('abort', () => frame.remove());
  return frame;
}

/** Returns the output. Throws the error of the code, or an error after ten seconds. */
export async function runJavaScript(code: string): Promise<string> {
  const running = new AbortController();
  const result = new Promise<{ output?: string; error?: string }>((resolve) => {
    const order = { worker: WORKER, code };
    const frame = sandboxFrame('JavaScript', order, running.signal, (data) => resolve(data ?? {}));
    frame.hidden = true;
    document.body.append(frame);
    setTimeout(() => resolve({ error: t('timeLimit', { seconds: MAX_MS / 1000 }) }), MAX_MS);
  });
  try {
    const { output = '', error } = await result;
    const text = [output, error]
      .filter((part) => part)
      .join('\n')
      .slice(0, MAX_CHARACTERS);
    if (error !== undefined) throw new Error(text);
    return text;
  } finally {
    // This ends the worker, too.
    running.abort();
  }
}
