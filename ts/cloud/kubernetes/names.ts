/** The names of an app's objects. */
import { ChasquiError } from '../../errors.js';

/** Kubernetes takes 63 characters, and objects append up to 8. */
const MAX_LENGTH = 55;

/** The Secret with an app's keys is called like the app, with this after it. */
export const KEYS_SUFFIX = '-keys';

/** `<org>-<app>`. Throws `invalid_options` where that is no name for Kubernetes. */
export function nameOf({ org, name }: { org: string; name: string }): string {
  const joined = `${org}-${name}`;
  if (/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(joined) && joined.length <= MAX_LENGTH) return joined;
  throw new ChasquiError(
    'invalid_options',
    `Kubernetes cannot call an app \`${joined}\`: use lower-case letters, digits and hyphens for the organisation and ` +
      `the app, a letter first, and ${MAX_LENGTH} characters at most for both.`,
  );
}
