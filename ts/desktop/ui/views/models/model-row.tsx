import { useSignal } from '@preact/signals';
import type { ListedModel } from '../../../api-types.js';
import { Action, CopyButton, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { LoadNotes, UseModel } from '../../parts/model-parts.js';
import { call, post } from '../../state/api.js';
import { loadedOf, refreshLibrary, settings, unloadModel } from '../../state/app.js';
import { loadOrMend } from '../../state/developer.js';
import { bytes, percent, tokens } from '../../state/format.js';
import { notify } from '../../state/notices.js';
import { DefaultsDialog } from './defaults-dialog.js';

const sources = {
  hub: 'Hugging Face cache',
  lmstudio: 'LM Studio',
  ollama: 'Ollama',
  folder: 'Your folder',
  builtin: 'Built-in',
};

export function ModelRow({ model }: { model: ListedModel }) {
  const open = useSignal<'defaults' | 'delete' | null>(null);
  const close = () => {
    open.value = null;
  };
  const { key, size_bytes, source, can_delete, path } = model;
  return (
    <li class="card model-row">
      <div class="model-main">
        <p class="model-name">
          <strong>{key}</strong>
          <CopyButton label={`Copy the name ${key}`} text={() => key} />
        </p>
        <p class="badges">
          <Badges model={model} />
        </p>
        <p class="help path" title={path}>
          {bytes(size_bytes)} · {sources[source]} · <span>{path}</span>
        </p>
        <LoadState model={model} />
      </div>
      <div class="row model-actions">
        <LoadAction model={model} />
        <UseModel model={key} />
        <IconAction
          label={`Load settings of ${key}`}
          icon="settings"
          run={() => {
            open.value = 'defaults';
          }}
        />
        {can_delete && (
          <IconAction
            label={`Delete ${key}`}
            icon="trash"
            run={() => {
              open.value = 'delete';
            }}
          />
        )}
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
    max_context_length && `${tokens(max_context_length)} context`,
    type === 'embedding' && 'embeddings',
    capabilities.vision && 'images',
    capabilities.trained_for_tool_use && 'tools',
    settings.value?.modelDefaults[model.key] && 'own settings',
    settings.value?.modelKeeps[model.key] === 'pinned' && 'pinned',
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
  if (loaded.state === 'failed') return <p class="problem">{loaded.reason ?? 'Could not load the model.'}</p>;
  if (loaded.state === 'loading') {
    return (
      <label class="loading">
        Loading {loaded.progress === null ? '…' : percent(loaded.progress)}
        <progress value={loaded.progress ?? undefined} max={1} />
      </label>
    );
  }
  const facts = [loaded.memoryBytes && bytes(loaded.memoryBytes), loaded.contextLength && tokens(loaded.contextLength)];
  return (
    <>
      <p class="loaded-line">
        <span class="dot good" /> Loaded{facts[0] && ` · ${facts[0]} in memory`}
        {facts[1] && ` · ${facts[1]} context`}
      </p>
      <LoadNotes notes={loaded.notes} />
    </>
  );
}

function LoadAction({ model: { key } }: { model: ListedModel }) {
  const loaded = loadedOf(key);
  if (loaded?.state === 'loading') {
    return <Action label="Cancel" icon="close" run={() => post('/models/cancel', { model: key })} />;
  }
  if (loaded?.state === 'loaded') return <Action label="Eject" icon="eject" run={() => unloadModel(loaded.id)} />;
  return <Action label="Load" icon="play" run={() => loadOrMend(key, {})} />;
}

function DeleteDialog({ model, close }: { model: ListedModel; close: () => void }) {
  const remove = async () => {
    const { freed_bytes } = await call<{ freed_bytes: number }>('DELETE', '/models', { model: model.key });
    close();
    await refreshLibrary();
    notify('done', `Deleted ${model.key}; freed ${bytes(freed_bytes)}.`);
  };
  return (
    <Dialog title="Delete this model?" close={close}>
      <p>
        <strong>{model.key}</strong> takes {bytes(model.size_bytes)}. Other programs that use the same file lose it too.
      </p>
      <p class="help path">{model.path}</p>
      <div class="dialog-foot">
        <Action label="Keep it" run={close} />
        <Action label="Delete" kind="danger" icon="trash" run={remove} />
      </div>
    </Dialog>
  );
}
