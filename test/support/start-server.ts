import * as assert from 'uvu/assert';
import type { Health } from '../../ts/api/server/health/schema.js';
import { startChild, untilWritten } from './child.js';

export interface RunningServer {
  /** Without `/v1`. */
  url: string;
  health(): Promise<Health>;
  /** Ends it with SIGTERM, which must succeed. */
  stop(): Promise<void>;
}

/** `chasqui serve` on a free port, with the demo model unless `args` name another. */
export async function startServer(args: readonly string[] = []): Promise<RunningServer> {
  const child = startChild('ts/cli.ts', ['serve', '--port', '0', ...args]);
  const [, url = ''] = await untilWritten(child, /^Serving .* at (http:\S+)\/v1$/m);
  return {
    url,
    health: async () => (await fetch(`${url}/health`)).json() as Promise<Health>,
    stop: async () => {
      child.process.kill('SIGTERM');
      assert.equal(await child.exited, { code: 0, signal: null }, child.output.stderr);
    },
  };
}
