import { useSignal } from '@preact/signals';
import type { ListedModel } from '../../../api-types.js';
import { Action, CopyButton, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { LoadProgress } from '../../parts/load-progress.js';
import { LoadNotes, UseModel } from '../../parts/model-parts.js';
import { Rich } from '../../parts/rich.js';
import { call, post } from '../../state/api.js';
import { loadedOf, refreshLibrary, settings, unloadModel } from '../../state/app.js';
import { loadOrMend } from '../../state/developer.js';
import { bytes, tokens } from '../../state/format.js';
import { t } from '../../state/language.js';
import { notify } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';
import { DefaultsDialog } from './defaults-dialog.js';

function sourceOf({ source }: ListedModel): string {
  if (source === 'lmstudio') return 'LM Studio';
  if (source === 'ollama') return 'Ollama';
  return t(({ hub: 'huggingFaceCache', folder: 'yourFolder', builtin: 'builtIn' } as const)[source]);
}

export function ModelRow({ model }: { model: ListedModel }) {
  const open = useSignal<'defaults' | 'delete' | null>(null);
  const close = setTo(open, null);
  const { key, size_bytes, can_delete, path } = model;
  return (
    <li class="card model-row">
      <div class="model-main">
        <p class="model-name">
          <strong>{key}</strong>
          <CopyButton label={t('copyName', { model: key })} text={() => key} />
        </p>
        <p class="badges">
          <Badges model={model} />
        </p>
        <p class="help path" title={path}>
          {bytes(size_bytes)} · {sourceOf(model)} · <span>{path}</span>
        </p>
        <LoadState model={model} />
      </div>
      <div class="row model-actions">
        <LoadAction model={model} />
        <UseModel model={key} />
        <IconAction label={t('loadSettingsOf', { model: key })} icon="settings" run={setTo(open, 'defaults')} />
        {can_delete && <IconAction label={t('deleteNamed', { name: key })} icon="trash" run={setTo(open, 'delete')} />}
      </div>
      {open.value === 'defaults' && <DefaultsDialog model={key} close={close} />}
      {open.value === 'delete' && <DeleteDialog model={model} close={close} />}
    </li>
  );
}

function Badges({ model }: { model: ListedModel }) {
  const { architecture, params_string, quantization, max_context_length, capabilities, type } = model;
  const facts = [
    params_string,
    quantization?.name,
    architecture,
    max_context_length && t('contextLength', { context: tokens(max_context_length) }),
    type === 'embedding' && t('embeddings'),
    capabilities.vision && t('images'),
    capabilities.trained_for_tool_use && t('tools'),
    settings.value?.modelDefaults[model.key] && t('ownSettings'),
    settings.value?.modelKeeps[model.key] === 'pinned' && t('pinned'),
  ];
  return (
    <>
      {facts.filter(Boolean).map((fact) => (
        <span key={String(fact)} class="badge">
          {fact}
        </span>
      ))}
    </>
  );
}

function LoadState({ model }: { model: ListedModel }) {
  const loaded = loadedOf(model.key);
  if (!loaded) return null;
  if (loaded.state === 'failed') return <p class="problem">{loaded.reason ?? t('couldNotLoad')}</p>;
  if (loaded.state === 'loading') {
    return <LoadProgress share={loaded.progress} />;
  }
  const { memoryBytes, contextLength } = loaded;
  const facts = [
    t('loaded'),
    memoryBytes && t('inMemory', { size: bytes(memoryBytes) }),
    contextLength && t('contextLength', { context: tokens(contextLength) }),
  ];
  return (
    <>
      <p class="loaded-line">
        <span class="dot good" /> {facts.filter(Boolean).join(' · ')}
      </p>
      <LoadNotes notes={loaded.notes} />
    </>
  );
}

function LoadAction({ model: { key } }: { model: ListedModel }) {
  const loaded = loadedOf(key);
  if (loaded?.state === 'loading') {
    return <Action label={t('cancel')} icon="close" run={() => post('/models/cancel', { model: key })} />;
  }
  if (loaded?.state === 'loaded') return <Action label={t('eject')} icon="eject" run={() => unloadModel(loaded.id)} />;
  return <Action label={t('load')} icon="play" run={() => loadOrMend(key, {})} />;
}

function DeleteDialog({ model, close }: { model: ListedModel; close: () => void }) {
  const remove = async () => {
    const { freed_bytes } = await call<{ freed_bytes: number }>('DELETE', '/models', { model: model.key });
    close();
    await refreshLibrary();
    notify('done', t('deletedModel', { model: model.key, size: bytes(freed_bytes) }));
  };
  return (
    <Dialog title={t('deleteModelQuestion')} close={close}>
      <p>
        <Rich message="modelTakes" values={{ model: <strong>{model.key}</strong>, size: bytes(model.size_bytes) }} />
      </p>
      <p class="help path">{model.path}</p>
      <div class="dialog-foot">
        <Action label={t('keepIt')} run={close} />
        <Action label={t('delete')} kind="danger" icon="trash" run={remove} />
      </div>
    </Dialog>
  );
}
