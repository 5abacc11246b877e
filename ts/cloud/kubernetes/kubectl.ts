/** Runs kubectl, which uses the existing credentials for the cluster. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ChasquiError } from '../../errors.js';
import { withPipes } from '../../process/open-files.js';

export interface Cluster {
  /** A context of the kubeconfig; null: its current one. */
  context: string | null;
  /** null: that of the context. */
  namespace: string | null;
}

/** Well above the output of `kubectl get` for an app. */
const MAX_OUTPUT_BYTES = 32 << 20;
const MAX_STDERR_BYTES = 16 << 10;

interface KubectlOptions {
  input?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Accept partial output of a failed command. */
  acceptsPartial?: boolean;
}

/** Resolves with the output. Rejects with `cluster_failed` and kubectl's message, or with the signal's reason. */
export async function kubectl(
  cluster: Cluster,
  args: readonly string[],
  { input, signal, timeoutMs = 60_000, acceptsPartial = false }: KubectlOptions = {},
): Promise<string> {
  const child = withPipes(
    spawn('kubectl', [...placeOf(cluster), ...args], { stdio: ['pipe', 'pipe', 'pipe'] }),
    'kubectl',
  );
  const stop = () => child.kill('SIGKILL');
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  let output = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.length > MAX_OUTPUT_BYTES) stop();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR_BYTES);
  });
  // If kubectl exits early, its own error is reported.
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    signal?.throwIfAborted();
    if (code === 0 || (acceptsPartial && code !== null && output !== '')) return output;
    const why = code === null ? `It timed out after ${timeoutMs / 1000} s.` : stderr.trim();
    throw new ChasquiError('cluster_failed', `\`kubectl ${args[0]}\` failed. ${why}`);
  } catch (error) {
    throw toClusterError(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Passes each line of output to `onLine` until kubectl exits. Rejects like `kubectl`. */
export async function followKubectl(
  cluster: Cluster,
  args: readonly string[],
  onLine: (line: string) => void,
): Promise<void> {
  const child = withPipes(
    spawn('kubectl', [...placeOf(cluster), ...args], { stdio: ['ignore', 'pipe', 'pipe'] }),
    'kubectl',
  );
  const lines = createInterface({ input: child.stdout }).on('line', onLine);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_STDERR_BYTES);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    if (code === 0) return;
    throw new ChasquiError('cluster_failed', `\`kubectl ${args[0]}\` failed. ${stderr.trim()}`);
  } catch (error) {
    throw toClusterError(error);
  } finally {
    lines.close();
  }
}

function placeOf({ context, namespace }: Cluster): string[] {
  return [
    ...(context === null ? [] : ['--context', context]),
    ...(namespace === null ? [] : ['--namespace', namespace]),
  ];
}

function toClusterError(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  return new ChasquiError('cluster_failed', 'kubectl is not installed, or not in the PATH.');
}
