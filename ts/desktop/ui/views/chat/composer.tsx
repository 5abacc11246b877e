import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ChatFile } from '../../../api-types.js';
import { IconAction } from '../../parts/button.js';
import { Icon } from '../../parts/icon.js';
import { chatModels } from '../../state/app.js';
import { maxAttached, readFiles } from '../../state/attachments.js';
import { busy, first, sessions } from '../../state/chat-pages.js';
import { type Attachments, countOf, noDraft } from '../../state/drafts.js';
import { bytes } from '../../state/format.js';
import { t } from '../../state/language.js';
import { attempt, notify } from '../../state/notices.js';
import { setTo } from '../../state/set-to.js';
import { VoiceInput } from '../voice/voice-input.js';

export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const { text } = first.draft.value;
  const over = useSignal(false);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  const add = (given: Iterable<File>) =>
    attempt(async () => {
      const read = await readFiles([...given]);
      if (read.images.length > 0 && !seesImages()) {
        notify('error', t('imagesUnsupported', { model: first.model.value }));
      }
      const draft = first.draft.peek();
      first.setDraft({
        ...draft,
        images: [...draft.images, ...read.images].slice(0, maxAttached),
        files: [...draft.files, ...read.files].slice(0, maxAttached),
      });
    });

  const send = async () => {
    const draft = first.draft.peek();
    if (busy.value || (draft.text.trim() === '' && countOf(draft) === 0)) return;
    first.setDraft(noDraft);
    await attempt(() => Promise.all(sessions.value.map((session) => session.send(draft))));
  };

  return (
    <form
      class={over.value ? 'composer over' : 'composer'}
      aria-label={t('newMessage')}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={setTo(over, false)}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void add(event.dataTransfer?.files ?? []);
      }}
    >
      <Attached attached={first.draft.value} change={(left) => first.setDraft({ ...first.draft.peek(), ...left })} />
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        value={text}
        onInput={(event) => first.setDraft({ ...first.draft.peek(), text: event.currentTarget.value })}
        aria-label={t('message')}
        placeholder={t('composerHint')}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
          event.preventDefault();
          void send();
        }}
        onPaste={(event) => void add(event.clipboardData?.files ?? [])}
      />
      <div class="composer-foot">
        <div class="row">
          <Attach add={add} />
          <VoiceInput
            key={first.id.value}
            model={first.model.value}
            add={(audio) => {
              const draft = first.draft.peek();
              first.setDraft({ ...draft, audio: [...draft.audio, audio].slice(0, maxAttached) });
            }}
          />
        </div>
        <SendOrStop />
      </div>
    </form>
  );
}

/** Safari ends a composition before the key event; the key code still is that of an input method. */
function isComposing({ isComposing: composing, keyCode }: KeyboardEvent): boolean {
  return composing || keyCode === 229;
}

function seesImages(): boolean {
  return chatModels.value.find(({ key }) => key === first.model.value)?.capabilities.vision ?? false;
}

interface AttachedProps {
  attached: Attachments;
  change: (left: Attachments) => void;
}

export function Attached({ attached, change }: AttachedProps) {
  const { images, audio, files } = attached;
  if (countOf(attached) === 0) return null;
  return (
    <ul class="attached">
      {images.map((url, index) => (
        <li key={url}>
          <img src={url} alt={t('attachmentNumber', { number: index + 1 })} />
          <IconAction
            label={t('removeImage', { number: index + 1 })}
            icon="close"
            run={() => change({ ...attached, images: images.toSpliced(index, 1) })}
          />
        </li>
      ))}
      {audio.map((url, index) => (
        <li key={index} class="file-chip">
          <Recorded url={url} number={index + 1} />
          <IconAction
            label={t('removeNamed', { name: t('recording', { number: index + 1 }) })}
            icon="close"
            run={() => change({ ...attached, audio: audio.toSpliced(index, 1) })}
          />
        </li>
      ))}
      {files.map((file, index) => (
        <li key={index} class="file-chip">
          <FileName file={file} />
          <IconAction
            label={t('removeNamed', { name: file.name })}
            icon="close"
            run={() => change({ ...attached, files: files.toSpliced(index, 1) })}
          />
        </li>
      ))}
    </ul>
  );
}

export function Recorded({ url, number }: { url: string; number: number }) {
  // biome-ignore lint/a11y/useMediaCaption: a recording has no captions.
  return <audio controls src={url} aria-label={t('recording', { number })} />;
}

export function FileName({ file: { name, sizeBytes } }: { file: ChatFile }) {
  return (
    <span class="file-name">
      <Icon name="file" /> <bdi>{name}</bdi> <span class="help">{bytes(sizeBytes)}</span>
    </span>
  );
}

function Attach({ add }: { add: (files: Iterable<File>) => unknown }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconAction label={t('attachFiles')} icon="attach" run={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={t('files')}
        onChange={(event) => {
          void add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
    </>
  );
}

function SendOrStop() {
  if (busy.value) {
    return (
      <button
        type="button"
        class="danger"
        onClick={() => void attempt(() => Promise.all(sessions.value.map((session) => session.stop())))}
      >
        <Icon name="stop" filled /> {t('stop')}
      </button>
    );
  }
  return (
    <button type="submit" class="primary" disabled={!first.model.value}>
      <Icon name="send" /> {t('send')}
    </button>
  );
}
