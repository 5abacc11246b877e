import { useEffect, useRef } from 'preact/hooks';
import type { RequestRow } from '../../../api-types.js';
import { CopyButton, IconAction } from '../../parts/button.js';
import { ScrollRegion } from '../../parts/page.js';
import { isRunning, requests } from '../../state/activity.js';
import { post } from '../../state/api.js';
import { server } from '../../state/app.js';
import { clock, count, milliseconds, percent, rate } from '../../state/format.js';
import { curlOf } from '../../state/snippets.js';

const shownRows = 50;

export function RequestTable() {
  const rows = requests.value;
  const running = rows.filter(isRunning).length;
  return (
    <section class="card requests" aria-labelledby="requests-title">
      <header class="card-head">
        <h2 id="requests-title">Requests</h2>
        <span class="muted">
          {running > 0 ? `${running} running` : rows.length > 0 && `${count(rows.length)} recent`}
        </span>
      </header>
      {rows.length === 0 ? (
        <p class="muted">No requests yet. Running requests appear here. Try one of the snippets.</p>
      ) : (
        <ScrollRegion class="table-scroll" label="Table of requests">
          <table>
            <thead>
              <tr>
                <th scope="col">State</th>
                <th scope="col">Endpoint and model</th>
                <th scope="col" class="number">
                  Prompt
                </th>
                <th scope="col" class="number">
                  Completion
                </th>
                <th scope="col" class="number">
                  Duration
                </th>
                <th scope="col">
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, shownRows).map((row) => (
                <Row key={row.id} row={row} />
              ))}
            </tbody>
          </table>
        </ScrollRegion>
      )}
    </section>
  );
}

function Row({ row }: { row: RequestRow }) {
  const begun = row.state !== 'waiting';
  return (
    <tr class={isRunning(row) ? 'running' : ''}>
      <td>
        <State row={row} />
        <small>{clock(row.at)}</small>
      </td>
      <td class="clip" title={modelsOf(row)}>
        {row.endpoint}
        <small>{modelsOf(row)}</small>
      </td>
      <td class="number">
        {begun && row.promptTokens > 0 && count(row.promptTokens)}
        <small>{row.cachedTokens > 0 && `${count(row.cachedTokens)} cached`}</small>
      </td>
      <td class="number">
        {begun && count(row.completionTokens)}
        <small>{rate(row.tokensPerSecond)}</small>
      </td>
      <td class="number">
        {milliseconds(row.durationMs)}
        <small>{row.ttftMs !== null && `first ${milliseconds(row.ttftMs)}`}</small>
      </td>
      <td class="actions">
        {isRunning(row) ? (
          <IconAction
            label={`Cancel the request of ${clock(row.at)}`}
            icon="close"
            run={() => post(`/requests/${encodeURIComponent(row.id)}/cancel`)}
          />
        ) : (
          <CopyButton
            label="Copy as curl"
            text={() => curlOf(server.value.address ?? 'http://localhost:1234', row.endpoint, row.model ?? '')}
          />
        )}
      </td>
    </tr>
  );
}

/** The model that replied, with the requested name if it differs. */
function modelsOf({ model, requested }: RequestRow): string {
  if (model === null) return requested ?? '';
  return requested === null || requested === model ? model : `${model}, requested as ${requested}`;
}

const words = {
  waiting: 'Waiting',
  prefill: 'Prefill',
  decode: 'Decoding',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

function State({ row }: { row: RequestRow }) {
  const kinds = { waiting: '', prefill: 'busy', decode: 'busy', done: 'good', failed: 'bad', cancelled: '' };
  return (
    <span class="state" title={row.error ?? undefined}>
      <span class={`dot ${kinds[row.state]}`} />
      {words[row.state]}
      {row.state === 'prefill' && row.prefill > 0 && <Prefill share={row.prefill} />}
      {row.state === 'failed' && row.status !== null && ` ${row.status}`}
    </span>
  );
}

function Prefill({ share }: { share: number }) {
  const ref = useRef<HTMLProgressElement>(null);
  useEffect(() => {
    if (ref.current) ref.current.value = share;
  }, [share]);
  return (
    <>
      {' '}
      {percent(share)}
      <progress ref={ref} max={1} aria-label="Prefill" />
    </>
  );
}
