/** The server: choose a model, start and stop, and see what it does. */
import { Page } from '../../parts/page.js';
import { LoadedModels } from './loaded-models.js';
import { Log } from './log.js';
import { Plots } from './plots.js';
import { RequestTable } from './request-table.js';
import { ServerPanel } from './server-panel.js';
import { Snippets } from './snippets.js';

export function DeveloperView() {
  return (
    <Page title="Developer" wide>
      <div class="developer">
        <div class="developer-side">
          <ServerPanel />
          <LoadedModels />
          <Snippets />
        </div>
        <RequestTable />
        <Plots />
        <Log />
      </div>
    </Page>
  );
}
