// Python clients and frameworks against a real server with the demo model.
import path from 'node:path';
import { suite } from 'uvu';
import { PYTHON_ENVIRONMENTS } from '../support/find-pypi.mjs';
import { HostedMode, MODEL } from '../support/modes.js';
import { pythonWith } from '../support/pypi.js';

const test = suite<{ hosted: HostedMode }>('clients-python: against a real server');

/** LiteLLM would otherwise download its price list. */
process.env.LITELLM_LOCAL_MODEL_COST_MAP = 'True';
process.env.HAYSTACK_TELEMETRY_ENABLED = 'False';

test.before(async (context) => {
  context.hosted = await HostedMode.start('runtime', 2048);
});
test.after(({ hosted }) => hosted.stop());

for (const environment of PYTHON_ENVIRONMENTS) {
  for (const [name, requirement] of Object.entries(environment)) {
    test(`all checks of ${[requirement].flat()[0]} pass`, ({ hosted }) => {
      const run = path.join(import.meta.dirname, 'run.py');
      pythonWith(Object.values(environment).flat(), [run, `${name}_checks`, hosted.baseUrl, MODEL]);
    });
  }
}

test.run();
