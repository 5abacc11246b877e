// Official Python clients, and LiteLLM, against a real server with the demo model.
import path from 'node:path';
import { suite } from 'uvu';
import { PYTHON_CLIENTS } from '../support/find-pypi.mjs';
import { HostedMode, MODEL } from '../support/modes.js';
import { pythonWith } from '../support/pypi.js';

const test = suite<{ hosted: HostedMode }>('clients-python: against a real server');

/** LiteLLM would otherwise download its price list. */
process.env.LITELLM_LOCAL_MODEL_COST_MAP = 'True';

test.before(async (context) => {
  context.hosted = await HostedMode.start('runtime', 2048);
});
test.after(({ hosted }) => hosted.stop());

for (const requirement of PYTHON_CLIENTS) {
  const [name] = requirement.split('==');
  test(`all checks of ${name} pass`, ({ hosted }) => {
    pythonWith(PYTHON_CLIENTS, [path.join(import.meta.dirname, 'run.py'), `${name}_checks`, hosted.baseUrl, MODEL]);
  });
}

test.run();
