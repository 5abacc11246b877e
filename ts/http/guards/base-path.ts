/** The beginning of all paths of a server. */
import { ChasquiError } from '../../errors.js';
import type { Profile } from '../../profiles/profile.js';

/** The app that a serverless server runs, and the organisation that it belongs to. */
export interface Deployment {
  org: string;
  app: string;
}

/** Throws `invalid_options` where the mode needs a deployment and none, or an impossible one, is given. */
export function basePathOf({ mode, basePath }: Profile, deployment: Deployment | undefined): string {
  if (basePath === '') return '';
  if (!deployment) throw new ChasquiError('invalid_options', `The ${mode} mode needs an organisation and an app.`);
  const { org, app } = deployment;
  for (const name of [org, app]) {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name)) {
      throw new ChasquiError(
        'invalid_options',
        `\`${name}\` cannot be part of a URL path: use up to 100 letters, digits, \`.\`, \`_\` and \`-\`.`,
      );
    }
  }
  return basePath.replace('<org_id>', org).replace('<app_id>', app);
}
