/** The server: model choice, start and stop, requests, metrics and log. */

import { Page } from '../../parts/page.js';
import { t } from '../../state/language.js';
import { LoadedModels } from './loaded-models.js';
import { Log } from './log.js';
import { Plots } from './plots.js';
import { RequestTable } from './request-table.js';
import { ServerPanel } from './server-panel.js';
import { Snippets } from './snippets.js';

export function DeveloperView() {
  return (
    <Page title={t('viewDeveloper')} wide>
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
