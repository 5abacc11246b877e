/** Runs JavaScript of models in a worker of a sandboxed frame, which has no network access. See routes/sandbox.ts. */
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

function sandboxFrame(): HTMLIFrameElement {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.title = 'JavaScript';
  frame.hidden = true;
  frame.src = '/sandbox';
  return frame;
}

/** Returns the output. Throws the error of the code, or an error after ten seconds. */
export async function runJavaScript(code: string): Promise<string> {
  const frame = sandboxFrame();
  let isRunning = false;
  const listening = new AbortController();
  const result = new Promise<{ output?: string; error?: string }>((resolve) => {
    const take = ({ data, source }: MessageEvent) => {
      if (source !== frame.contentWindow) return;
      // Later messages come from the code, also another `ready`.
      if (isRunning) return resolve(data ?? {});
      isRunning = true;
      frame.contentWindow?.postMessage({ worker: WORKER, code }, '*');
    };
    addEventListener('message', take, { signal: listening.signal });
    setTimeout(() => resolve({ error: t('timeLimit', { seconds: MAX_MS / 1000 }) }), MAX_MS);
  });
  document.body.append(frame);
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
    frame.remove();
    listening.abort();
  }
}
