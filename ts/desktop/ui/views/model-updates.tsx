/** Checks the hub for newer versions of local models, on request only. */

import { useSignal } from '@preact/signals';
import { Action } from '../parts/button.js';
import { get, post, query, wordsOf } from '../state/api.js';
import { library, refreshLibrary } from '../state/app.js';
import { bytes } from '../state/format.js';
import { t } from '../state/language.js';
import { notify } from '../state/notices.js';

interface Update {
  state: 'same' | 'changed' | 'gone';
  bytes: number;
}

interface Finding {
  model: string;
  words: string;
  canFetch: boolean;
}

export function ModelUpdates() {
  const findings = useSignal<readonly Finding[] | null>(null);
  const check = async () => {
    await refreshLibrary();
    const models = (library.value ?? []).filter(({ source }) => source === 'hub');
    const found: Finding[] = [];
    for (const { key } of models) found.push(await findingOf(key));
    findings.value = found;
  };
  return (
    <div class="updates">
      <p class="help">{t('neverUpdated')}</p>
      <Action label={t('checkForNewer')} icon="retry" run={check} />
      {findings.value && <Findings findings={findings.value} />}
    </div>
  );
}

function Findings({ findings }: { findings: readonly Finding[] }) {
  if (findings.length === 0) return <p class="muted">{t('noHubModels')}</p>;
  return (
    <ul class="loaded-list" aria-label={t('availableUpdates')}>
      {findings.map(({ model, words, canFetch }) => (
        <li key={model} class="loaded">
          <strong>{model}</strong>
          <p class="muted">{words}</p>
          {canFetch && <Action label={t('downloadAgain', { model })} icon="downloads" run={() => fetchAgain(model)} />}
        </li>
      ))}
    </ul>
  );
}

/** Reports an error as the result of its model, so that the others are still checked. */
async function findingOf(model: string): Promise<Finding> {
  try {
    const update = await get<Update | null>(`/models/update${query({ model })}`);
    return { model, words: wordsFor(update), canFetch: update?.state === 'changed' };
  } catch (error) {
    return { model, words: wordsOf(error), canFetch: false };
  }
}

function wordsFor(update: Update | null): string {
  if (update === null) return t('notOnHub');
  if (update.state === 'gone') return t('goneFromHub');
  return update.state === 'same' ? t('upToDate') : t('updateAvailable', { size: bytes(update.bytes) });
}

async function fetchAgain(model: string): Promise<void> {
  await post('/models/download', { model });
  notify('done', t('downloadingModel', { model }));
}
