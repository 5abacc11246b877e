/** What the database has of a script, which was checked when it was deployed. */
import { ChasquiError } from '../../errors.js';
import { type Manifest, toManifest } from '../script/manifest.js';

/**
 * `options`: as JSON. Null: a version of chasqui that took other options has stored it. No app of a cloud may keep the
 * others from being served, so this is nothing to end for.
 */
export function storedManifest(options: string, name: string): Manifest | null {
  try {
    return toManifest(JSON.parse(options), name);
  } catch (error) {
    if (error instanceof ChasquiError) return null;
    throw error;
  }
}
