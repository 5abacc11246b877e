/** Runs kubectl, which brings the ways to sign in to a cluster that people have set up. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { ChasquiError } from '../../errors.js';
import { withPipes } from '../../process/open-files.js';

export interface Cluster {
  /** A context of the kubeconfig; null: its current one. */
  context: string | null;
  /** null: the context's. */
  namespace: string | null;
}

/** `kubectl get` of everything an app has is far smaller. */
const MAX_OUTPUT_BYTES = 32 << 20;
const MAX_COMPLAINT_BYTES = 16 << 10;

interface KubectlOptions {
  input?: string;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** What was printed before it failed is taken, where there is any. */
  takesParts?: boolean;
}

/**
 * What kubectl prints. Rejects with `cluster_failed`, whose message is kubectl's own, and with the signal's reason.
 */
export async function kubectl(
  cluster: Cluster,
  args: readonly string[],
  { input, signal, timeoutMs = 60_000, takesParts = false }: KubectlOptions = {},
): Promise<string> {
  const child = withPipes(
    spawn('kubectl', [...placeOf(cluster), ...args], { stdio: ['pipe', 'pipe', 'pipe'] }),
    'kubectl',
  );
  const stop = () => child.kill('SIGKILL');
  const timer = setTimeout(stop, timeoutMs);
  signal?.addEventListener('abort', stop, { once: true });
  let output = '';
  let complaint = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    if (output.length > MAX_OUTPUT_BYTES) stop();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT_BYTES);
  });
  // A kubectl that ends before it has read everything says why itself.
  child.stdin.on('error', () => {});
  child.stdin.end(input ?? '');
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    signal?.throwIfAborted();
    if (code === 0 || (takesParts && code !== null && output !== '')) return output;
    const why = code === null ? `It was ended after ${timeoutMs / 1000} s.` : complaint.trim();
    throw new ChasquiError('cluster_failed', `\`kubectl ${args[0]}\` failed. ${why}`);
  } catch (error) {
    throw explained(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

/** Gives each line that kubectl prints to `onLine`, for as long as it goes on. Rejects as `kubectl` does. */
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
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-MAX_COMPLAINT_BYTES);
  });
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject).once('close', resolve);
    });
    if (code === 0) return;
    throw new ChasquiError('cluster_failed', `\`kubectl ${args[0]}\` failed. ${complaint.trim()}`);
  } catch (error) {
    throw explained(error);
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

function explained(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return error;
  const message = 'kubectl is not installed, or not in the PATH: it is what talks to the cluster.';
  return new ChasquiError('cluster_failed', message);
}
