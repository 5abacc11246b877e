import { useEffect, useRef } from 'preact/hooks';
import type { RequestRow } from '../../../api-types.js';
import { CopyButton, IconAction } from '../../parts/button.js';
import { ScrollRegion } from '../../parts/page.js';
import { isRunning, requests } from '../../state/activity.js';
import { post } from '../../state/api.js';
import { server } from '../../state/app.js';
import { clock, count, milliseconds, percent, rate } from '../../state/format.js';
import { t } from '../../state/language.js';
import { curlOf } from '../../state/snippets.js';

const shownRows = 50;

export function RequestTable() {
  const rows = requests.value;
  const running = rows.filter(isRunning).length;
  return (
    <section class="card requests" aria-labelledby="requests-title">
      <header class="card-head">
        <h2 id="requests-title">{t('requests')}</h2>
        <span class="muted">
          {running > 0
            ? t('runningCount', { count: running })
            : rows.length > 0 && t('recentCount', { count: rows.length })}
        </span>
      </header>
      {rows.length === 0 ? (
        <p class="muted">{t('noRequests')}</p>
      ) : (
        <ScrollRegion class="table-scroll" label={t('tableOfRequests')}>
          <table>
            <thead>
              <tr>
                <th scope="col">{t('state')}</th>
                <th scope="col">{t('endpointAndModel')}</th>
                <th scope="col" class="number">
                  {t('prompt')}
                </th>
                <th scope="col" class="number">
                  {t('completion')}
                </th>
                <th scope="col" class="number">
                  {t('duration')}
                </th>
                <th scope="col">
                  <span class="unseen">{t('actions')}</span>
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
        <small>{row.cachedTokens > 0 && t('cachedCount', { count: row.cachedTokens })}</small>
      </td>
      <td class="number">
        {begun && count(row.completionTokens)}
        <small>{rate(row.tokensPerSecond)}</small>
      </td>
      <td class="number">
        {milliseconds(row.durationMs)}
        <small>{row.ttftMs !== null && t('firstIn', { time: milliseconds(row.ttftMs) })}</small>
      </td>
      <td class="actions">
        {isRunning(row) ? (
          <IconAction
            label={t('cancelRequest', { time: clock(row.at) })}
            icon="close"
            run={() => post(`/requests/${encodeURIComponent(row.id)}/cancel`)}
          />
        ) : (
          <CopyButton
            label={t('copyAsCurl')}
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
  return requested === null || requested === model ? model : t('requestedAs', { model, name: requested });
}

const words = {
  waiting: 'stateWaiting',
  prefill: 'statePrefill',
  decode: 'stateDecoding',
  done: 'stateDone',
  failed: 'failed',
  cancelled: 'cancelled',
} as const;

function State({ row }: { row: RequestRow }) {
  const kinds = { waiting: '', prefill: 'busy', decode: 'busy', done: 'good', failed: 'bad', cancelled: '' };
  return (
    <span class="state" title={row.error ?? undefined}>
      <span class={`dot ${kinds[row.state]}`} />
      {t(words[row.state])}
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
      <progress ref={ref} max={1} aria-label={t('statePrefill')} />
    </>
  );
}
