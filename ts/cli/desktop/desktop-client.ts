/** Client of the running desktop app of a data folder. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AppState } from '../../desktop/api-types.js';
import { findInstance } from '../../desktop/single-instance.js';
import { ChasquiError } from '../../errors.js';

/** Startup time of the app. */
const START_MS = 15_000;
const POLL_MS = 100;

export class DesktopClient {
  private constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  /** Waits for an app that is starting. */
  static async find(folder: string, waitMs = START_MS): Promise<DesktopClient> {
    const client = await DesktopClient.findNow(folder);
    if (client !== null) return client;
    for (let waited = 0; waited < waitMs; waited += POLL_MS) {
      await sleep(POLL_MS);
      const later = await DesktopClient.findNow(folder);
      if (later !== null) return later;
    }
    throw new ChasquiError('internal_error', `Could not reach the desktop app of ${folder}: restart it.`);
  }

  /** Returns `null` if no app is running. */
  static async findNow(folder: string): Promise<DesktopClient | null> {
    const found = findInstance(folder);
    if (found === null) return null;
    const client = new DesktopClient(found.url, found.token);
    try {
      await client.get('/api/v1/state');
      return client;
    } catch {
      return null;
    }
  }

  get<Reply>(path: string): Promise<Reply> {
    return this.#ask(path, {});
  }

  post<Reply>(path: string, body?: object): Promise<Reply> {
    const json = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return this.#ask(path, { method: 'POST', ...json });
  }

  /** The model that Start Server loads. */
  async lastModel(): Promise<string> {
    const { settings } = await this.get<AppState>('/api/v1/state');
    if (settings.lastModel !== null) return settings.lastModel;
    const { models } = await this.get<{ models: { key: string }[] }>('/api/v1/models');
    return models[0]?.key ?? '';
  }

  async #ask<Reply>(path: string, request: RequestInit): Promise<Reply> {
    const headers = { ...request.headers, authorization: `Bearer ${this.token}` };
    const reply = await fetch(this.url + path, { ...request, headers });
    const text = await reply.text();
    if (!reply.ok) throw new Error(messageIn(text) ?? `the app replied with status ${reply.status}`);
    return JSON.parse(text) as Reply;
  }
}

/** The message of an error reply, or `undefined` if it has none. */
export function messageIn(text: string): string | undefined {
  try {
    return JSON.parse(text).error.message;
  } catch {
    return undefined;
  }
}
