// Every row of the specification in every mode that it is about: look for its number in the tables under rows/.
import { suite } from 'uvu';
import { HostedMode, type Mode } from '../support/modes.js';
import { ALL } from './row.js';
import { modeRows } from './rows/1-modes.js';
import { requestRows } from './rows/2.1-request.js';
import { bodyRows } from './rows/2.2-to-2.5-bodies.js';
import { endpointRows } from './rows/4-endpoints.js';
import { authenticationRows } from './rows/5-authentication.js';
import { versioningRows } from './rows/9-versioning.js';

const ROWS = [...modeRows, ...requestRows, ...bodyRows, ...endpointRows, ...authenticationRows, ...versioningRows];

for (const mode of ALL) {
  const test = suite(`spec: ${mode}`);
  let hosted: HostedMode;
  test.before(async () => {
    hosted = await HostedMode.start(mode as Mode);
  });
  test.after(() => hosted.stop());
  for (const { row, says, modes, check } of ROWS) {
    if (modes.includes(mode)) test(`${row}: ${says}`, () => check(hosted));
  }
  test.run();
}
