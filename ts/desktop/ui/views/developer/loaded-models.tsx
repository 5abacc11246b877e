import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { LoadedModel } from '../../../api-types.js';
import { Action } from '../../parts/button.js';
import { LoadProgress } from '../../parts/load-progress.js';
import { LoadNotes } from '../../parts/model-parts.js';
import { post } from '../../state/api.js';
import { loadedModels, unloadModel } from '../../state/app.js';
import { bytes, duration, tokens } from '../../state/format.js';
import { t } from '../../state/language.js';

export function LoadedModels() {
  const models = loadedModels.value;
  return (
    <section class="card" aria-labelledby="loaded-title">
      <header class="card-head">
        <h2 id="loaded-title">{t('loadedModels')}</h2>
        <span class="muted">{total(models)}</span>
      </header>
      {models.length === 0 ? (
        <p class="muted">{t('noModelLoaded')}</p>
      ) : (
        <ul class="loaded-list">
          {models.map((model) => (
            <LoadedCard key={model.id} model={model} />
          ))}
        </ul>
      )}
    </section>
  );
}

function total(models: readonly LoadedModel[]): string {
  const sum = models.reduce((all, { memoryBytes }) => all + (memoryBytes ?? 0), 0);
  return sum > 0 ? bytes(sum) : '';
}

function LoadedCard({ model }: { model: LoadedModel }) {
  const { id, state, progress, memoryBytes, contextLength, running, queued, reason } = model;
  const facts = [
    memoryBytes !== null && bytes(memoryBytes),
    contextLength !== null && t('contextLength', { context: tokens(contextLength) }),
    running > 0 && t('runningCount', { count: running }),
    queued > 0 && t('waitingCount', { count: queued }),
    model.pinned && t('pinned'),
  ].filter(Boolean);
  return (
    <li class="loaded">
      <div class="loaded-name">
        <span class={`dot ${state === 'loaded' ? 'good' : state === 'failed' ? 'bad' : 'busy'}`} />
        <strong>{model.model}</strong>
      </div>
      {state === 'loading' && <LoadProgress share={progress} />}
      {reason && <p class={state === 'failed' ? 'problem' : 'muted'}>{reason}</p>}
      <LoadNotes notes={model.notes} />
      <div class="loaded-foot">
        <span class="muted">
          {facts.join(' · ')}
          <Expiry at={model.expiresAt} />
        </span>
        {state === 'loading' ? (
          <Action
            label={t('cancel')}
            kind="quiet"
            icon="close"
            run={() => post('/models/cancel', { model: model.model })}
          />
        ) : (
          <Action label={t('eject')} kind="quiet" icon="eject" run={() => unloadModel(id)} />
        )}
      </div>
    </li>
  );
}

function Expiry({ at }: { at: number | null }) {
  const now = useSignal(Date.now());
  useEffect(() => {
    if (at === null) return;
    const timer = setInterval(() => {
      now.value = Date.now();
    }, 1000);
    return () => clearInterval(timer);
  }, [at, now]);
  if (at === null) return null;
  return <> · {t('unloadsIn', { time: duration(Math.max(0, at - now.value / 1000)) })}</>;
}
