/** From a profile and a model's path to a server that listens, and from there to one that has stopped in good order. */
import net from 'node:net';
import type { Engine } from '../engine/engine.js';
import { type LoadOptions, loadModel } from '../engine/model.js';
import { type AppOptions, buildApp } from '../http/app.js';
import type { Profile } from './profile.js';

export interface StartSettings {
  modelPath: string;
  /** Default: the profile's. */
  host?: string;
  /** Default: the profile's. 0 takes any free port. */
  port?: number;
  model?: LoadOptions;
  app?: Pick<AppOptions, 'strict' | 'bodyLimit' | 'onFault'>;
}

export interface Server {
  engine: Engine;
  host: string;
  port: number;
  /** Lets running replies finish for a few seconds, ends the others with an error, frees the model. */
  stop(): Promise<void>;
}

const DRAIN_MS = 5000;

/** Rejects with a `ChasquiError` when the model cannot be loaded, with Node's own error when the port cannot be had. */
export async function start(profile: Profile, settings: StartSettings): Promise<Server> {
  const host = settings.host ?? profile.host;
  const port = settings.port ?? profile.port;
  await tryPort(host, port);
  const engine = await loadModel(settings.modelPath, settings.model);
  const app = buildApp(engine, profile, { drainMs: DRAIN_MS, ...settings.app });
  const stop = async (): Promise<void> => {
    await app.close();
    await engine.close();
  };
  try {
    await app.listen({ host, port });
  } catch (error) {
    await stop();
    throw error;
  }
  return { engine, host, port: (app.server.address() as net.AddressInfo).port, stop };
}

/** A model may take minutes to load: that the port is taken should be heard before, not after. */
function tryPort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer();
    probe.once('error', reject);
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}
