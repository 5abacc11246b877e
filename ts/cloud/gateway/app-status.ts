/** What an app is at, for whoever may call it: `GET /<org>/<app>/status`. It wakes nothing. */
import type { ServerResponse } from 'node:http';
import { sendJson } from './client-reply.js';
import type { DeployedApp } from './directory.js';
import type { WaitingRoom } from './waiting-room.js';

export interface AppStatus {
  org: string;
  app: string;
  revision: number | null;
  state: 'ready' | 'starting' | 'asleep' | 'failed';
  /** Runners that take requests. */
  runners: number;
  /** Requests that a runner has, and that wait for one. */
  running: number;
  queued: number;
  progress: string | null;
  failure: { code: string; message: string } | null;
}

export function replyToStatus(response: ServerResponse, app: DeployedApp, room: WaitingRoom, status: number): void {
  const { org, name, revision, progress, failure } = app;
  const runners = app.runners().length;
  const body: AppStatus = {
    org,
    app: name,
    revision,
    state: stateOf(app, runners, room.isAwaited),
    runners,
    running: room.running,
    queued: room.queued,
    progress,
    failure: failure === null ? null : { code: failure.code, message: failure.message },
  };
  response.setHeader('cache-control', 'no-store');
  sendJson(response, status, body);
}

function stateOf({ failure, progress }: DeployedApp, runners: number, isAwaited: boolean): AppStatus['state'] {
  if (failure !== null) return 'failed';
  if (runners > 0) return 'ready';
  return progress !== null || isAwaited ? 'starting' : 'asleep';
}
