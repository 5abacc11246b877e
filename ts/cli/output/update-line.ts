import type { PublishedVersion } from '../../updates/published-version.js';
import { installCommand } from '../../updates/update-check.js';
import { VERSION } from '../../version.js';

export function updateLine(found: PublishedVersion): string {
  const command = installCommand(found);
  return `chasqui ${found.version} is available; this is ${VERSION}.${command === null ? '' : ` Install it: ${command}`}`;
}
