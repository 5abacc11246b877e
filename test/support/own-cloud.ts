/** A cloud in this process with its own folder and a signed-in user. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DEMO_MODEL, runnerCommand } from '../../ts/cli/cloud/runner-command.js';
import type { Actor } from '../../ts/cloud/accounts/audit.js';
import { type Cloud, type CloudSettings, startCloud } from '../../ts/cloud/start.js';
import { PASSWORD, type TestDashboard } from './dashboard.js';
import { until } from './until.js';
import { Visitor } from './visitor.js';

const LOCAL: Actor = { kind: 'local', name: 'tests', org: null, app: null, address: null };
const START_LIMIT_MS = 120_000;

export interface OwnCloud {
  cloud: Cloud;
  home: string;
  visitor: Visitor;
  /** Errors that the cloud reported. */
  errors: unknown[];
  /** Deploys, and waits until so many runners are ready. */
  deployed(app: string, options: object, ready?: number): Promise<void>;
  /** Stops it and removes its folder. */
  end(): Promise<void>;
}

export async function startOwnCloud(settings: Partial<CloudSettings> = {}): Promise<OwnCloud> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'chasqui-cloud-'));
  const errors: unknown[] = [];
  const cloud = await startCloud({
    home,
    host: '127.0.0.1',
    port: 0,
    command: runnerCommand(),
    demoModel: DEMO_MODEL,
    endsWithParent: true,
    hub: { endpoint: 'http://127.0.0.1:9', token: null, cacheFolder: path.join(home, 'hub') },
    onError: (error) => errors.push(error),
    ...settings,
  });
  const pages = { url: cloud.url, accounts: cloud.accounts } as unknown as TestDashboard;
  const visitor = new Visitor(pages);
  const setup = cloud.accounts.setupPath();
  await visitor.send(setup, { password: PASSWORD, again: PASSWORD }, setup);
  return {
    cloud,
    home,
    errors,
    visitor,
    deployed: async (app, options, ready = 1) => {
      const all = { model: 'demo', context: 512, auth: 'public', ...options };
      const deployment = { options: all as never, files: {}, message: null, strategy: 'rolling' as const };
      cloud.control.deploy(cloud.org, app, deployment, LOCAL);
      await until(() => cloud.control.status(cloud.org, app).ready === ready, `${app} is ready`, START_LIMIT_MS);
    },
    end: async () => {
      await cloud.stop({ drainMs: 5000, keepRunners: false });
      fs.rmSync(home, { recursive: true, force: true });
    },
  };
}
