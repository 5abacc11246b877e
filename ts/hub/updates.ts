/** Checks whether the hub has a newer version of a downloaded model. */
import fs from 'node:fs';
import path from 'node:path';
import type { HubClient } from './hub-client.js';
import type { LocalModel } from './library.js';

export interface Update {
  /** `changed`: at least one file differs; `same`: none does; `gone`: the files no longer exist. */
  state: 'same' | 'changed' | 'gone';
  /** Current commit of the repository. */
  commit: string;
  /** Download size of the update. */
  bytes: number;
}

/** Returns `null` for a model that did not come from the hub. Lists files only if the repository has changed. */
export async function findUpdate(client: HubClient, model: LocalModel, signal?: AbortSignal): Promise<Update | null> {
  const { repo, commit } = model;
  if (model.source !== 'hub' || repo === null || commit === null) return null;
  const present = await client.commitOf(repo, signal);
  if (present === commit) return { state: 'same', commit, bytes: 0 };
  const { files } = await client.model(repo, signal);
  const own = [...partsOf(model.path), ...(model.projector === null ? [] : [model.projector])].map((file) => ({
    name: nameInSnapshot(file, commit),
    digest: digestOf(file),
  }));
  const newer = own.map(({ name }) => files.find(({ path: listed }) => listed === name));
  if (newer[0] === undefined) return { state: 'gone', commit: present, bytes: 0 };
  const changed = newer.filter((file, index) => file !== undefined && file.sha256 !== own[index]?.digest);
  const bytes = changed.reduce((sum, file) => sum + (file?.sizeBytes ?? 0), 0);
  return { state: changed.length > 0 ? 'changed' : 'same', commit: present, bytes };
}

/** The first part's name contains the number of parts. */
function partsOf(first: string): string[] {
  const count = Number(/-00001-of-(\d{5})\.gguf$/i.exec(first)?.[1] ?? 1);
  const numbers = Array.from({ length: count }, (_, index) => String(index + 1).padStart(5, '0'));
  return numbers.map((number) => first.replace(/-00001-of-/, `-${number}-of-`));
}

function nameInSnapshot(file: string, commit: string): string {
  const [, name = ''] = file.split(`${path.sep}${commit}${path.sep}`);
  return name.split(path.sep).join('/');
}

/** Cache links point to blobs that are named by digest. */
function digestOf(file: string): string | null {
  try {
    return path.basename(fs.readlinkSync(file));
  } catch {
    return null;
  }
}
