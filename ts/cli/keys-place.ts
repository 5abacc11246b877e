/** The key store of `chasqui keys`: the cloud that other commands use, otherwise the file of this machine. */
import { existsSync } from 'node:fs';
import { openAccounts } from '../cloud/accounts/accounts.js';
import { LOCAL_ACTOR } from '../cloud/accounts/audit.js';
import { createKey, revokeKey } from '../cloud/accounts/key-changes.js';
import { keyToJson } from '../cloud/accounts/routes.js';
import { placesIn } from '../cloud/places.js';
import { openDatabase } from '../cloud/store/database.js';
import { limitsToJson } from '../keys/key-settings.js';
import { type KeyFilter, KeyStore, type NewKeySettings } from '../keys/key-store.js';
import { CloudClient } from './cloud/client.js';

/** A key as the API and this command print it. */
export type KeyJson = ReturnType<typeof keyToJson>;

export interface KeysPlace {
  create(settings: NewKeySettings): Promise<{ id: string; key: string }>;
  list(filter: KeyFilter): Promise<KeyJson[]>;
  /** Null when there is no key of this id. */
  revoke(id: string): Promise<KeyJson | null>;
  close(): void;
}

/** `local` selects the file of this machine even if a cloud is available. */
export async function openKeys(home: string, { local }: { local: boolean }): Promise<KeysPlace> {
  const cloud = local ? null : await CloudClient.findIfAny(home);
  return cloud === null ? openFile(home) : keysOfCloud(cloud);
}

function keysOfCloud(cloud: CloudClient): KeysPlace {
  return {
    create: async ({ expiresAt, limits = {}, org, app, ...settings }) => {
      // Null would request unrestricted access; without the fields, the new key inherits the scope of the caller's key.
      const reach = { org: org ?? undefined, app: app ?? undefined };
      const body = { ...settings, ...reach, expires_at: expiresAt, limits: limitsToJson(limits) };
      const { id, key } = await cloud.post<{ id: string; key: string }>('/keys', body);
      return { id, key };
    },
    list: async ({ org = null, app = null }) => {
      const { keys } = await cloud.get<{ keys: KeyJson[] }>('/keys');
      const opens = (wanted: string | null, has: string | null) => wanted === null || has === null || has === wanted;
      return keys.filter((key) => opens(org, key.org) && opens(app, key.app));
    },
    revoke: async (id) => {
      const { keys } = await cloud.get<{ keys: KeyJson[] }>('/keys');
      if (!keys.some((key) => key.id === id)) return null;
      return cloud.delete<KeyJson>(`/keys/${encodeURIComponent(id)}`);
    },
    close: () => undefined,
  };
}

/** If this machine has run a cloud, its audit log records the change. */
function openFile(home: string): KeysPlace {
  const { cloud } = placesIn(home);
  if (!existsSync(cloud)) return keysOfStore(KeyStore.open(home));
  const database = openDatabase(cloud);
  const accounts = openAccounts({ database, home });
  const { keys } = accounts;
  return {
    ...keysOfStore(keys),
    create: async (settings) => {
      const { key, made } = createKey(accounts, LOCAL_ACTOR, settings);
      return { id: made.id, key };
    },
    revoke: async (id) => (keys.find(id) ? keyToJson(revokeKey(accounts, LOCAL_ACTOR, id)) : null),
    close: () => {
      accounts.close();
      database.close();
    },
  };
}

function keysOfStore(keys: KeyStore): KeysPlace {
  return {
    create: async (settings) => keys.create(settings),
    list: async (filter) => keys.list(filter).map(keyToJson),
    revoke: async (id) => {
      const revoked = keys.revoke(id);
      return revoked ? keyToJson(revoked) : null;
    },
    close: () => keys.close(),
  };
}
