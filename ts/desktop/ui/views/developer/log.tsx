import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { LogLine } from '../../../api-types.js';
import { CopyButton, IconAction } from '../../parts/button.js';
import { ScrollRegion } from '../../parts/page.js';
import { Select } from '../../parts/select.js';
import { logLines, requests } from '../../state/activity.js';
import { post } from '../../state/api.js';
import { server } from '../../state/app.js';
import { clock } from '../../state/format.js';
import { t } from '../../state/language.js';
import { notify } from '../../state/notices.js';
import { setToText } from '../../state/set-to.js';
import { curlOf } from '../../state/snippets.js';

const shownLines = 300;
const levels = ['debug', 'info', 'warn', 'error'];

export function Log() {
  const text = useSignal('');
  const least = useSignal('info');
  const lines = chosenLines(logLines.value, text.value, least.value);
  return (
    <section class="card log" aria-labelledby="log-title">
      <header class="card-head">
        <h2 id="log-title">{t('log')}</h2>
        <div class="row">
          <input
            type="search"
            aria-label={t('filterLog')}
            placeholder={t('filter')}
            value={text.value}
            onInput={setToText(text)}
          />
          <Select
            label={t('minimumLevel')}
            value={least.value}
            options={levels.map((level) => [level, level])}
            choose={(level) => {
              least.value = level;
            }}
          />
          <CopyButton label={t('copyVisibleLines')} text={() => lines.map(inText).join('\n')} />
          <IconAction label={t('openLogFolder')} icon="folder" run={showFolder} />
        </div>
      </header>
      <Lines lines={lines} />
    </section>
  );
}

/** Shows the path if no file manager can be opened. */
async function showFolder(): Promise<void> {
  const { folder, opened } = await post<{ folder: string; opened: boolean }>('/logs/folder');
  if (!opened) notify('done', t('logFolder', { folder }));
}

function chosenLines(all: readonly LogLine[], text: string, least: string): readonly LogLine[] {
  const wanted = text.trim().toLowerCase();
  const from = levels.indexOf(least);
  const chosen = all.filter(
    (line) => rankOf(line.level) >= from && (!wanted || inText(line).toLowerCase().includes(wanted)),
  );
  return chosen.slice(-shownLines);
}

/** Maps unlisted levels to the nearest one. */
function rankOf(level: string): number {
  if (level === 'trace') return 0;
  return level === 'fatal' ? levels.length - 1 : Math.max(levels.indexOf(level === 'warning' ? 'warn' : level), 0);
}

function inText({ at, level, message, request }: LogLine): string {
  return `${new Date(at).toISOString()} ${level} ${message}${request ? ` (${request})` : ''}`;
}

/** Follows the newest line while the end is in view. */
function Lines({ lines }: { lines: readonly LogLine[] }) {
  const place = useRef<HTMLElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    const element = place.current;
    if (element && follows.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  const watch = () => {
    const element = place.current;
    if (element) follows.current = element.scrollHeight - element.scrollTop - element.clientHeight < 24;
  };
  return (
    <ScrollRegion class="log-lines" label={t('logLines')} place={place} onScroll={watch}>
      {lines.length === 0 && <p class="muted">{t('noLogLines')}</p>}
      {lines.map((line) => (
        <Line key={`${line.at} ${line.request} ${line.message}`} line={line} />
      ))}
    </ScrollRegion>
  );
}

function Line({ line }: { line: LogLine }) {
  const request = line.request ? requests.value.find(({ id }) => id === line.request) : undefined;
  return (
    <div class={`log-line ${line.level}`}>
      <time>{clock(line.at)}</time>
      <span class="level">{line.level}</span>
      <span class="message">{line.message}</span>
      {request && (
        <CopyButton
          label={t('copyAsCurl')}
          text={() => curlOf(server.value.address ?? 'http://localhost:1234', request.endpoint, request.model ?? '')}
        />
      )}
    </div>
  );
}
