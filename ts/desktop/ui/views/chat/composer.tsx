import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { IconAction } from '../../parts/button.js';
import { Icon } from '../../parts/icon.js';
import { chatModels } from '../../state/app.js';
import { busy, first, sessions } from '../../state/chat-pages.js';
import { noDraft } from '../../state/drafts.js';
import { maxImages, readImages } from '../../state/images.js';
import { attempt, notify } from '../../state/notices.js';

export function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  const { text, images } = first.draft.value;
  const over = useSignal(false);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);

  const add = (files: Iterable<File>) =>
    attempt(async () => {
      const read = await readImages(files);
      if (read.length > 0 && !seesImages()) {
        notify('error', `${first.model.value} does not support images. My Models shows which models do.`);
      }
      const draft = first.draft.peek();
      first.setDraft({ ...draft, images: [...draft.images, ...read].slice(0, maxImages) });
    });

  const send = async () => {
    const draft = first.draft.peek();
    if (busy.value || (draft.text.trim() === '' && draft.images.length === 0)) return;
    first.setDraft(noDraft);
    await attempt(() => Promise.all(sessions.value.map((session) => session.send(draft.text, draft.images))));
  };

  return (
    <form
      class={over.value ? 'composer over' : 'composer'}
      aria-label="New message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => {
        over.value = false;
      }}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void add(event.dataTransfer?.files ?? []);
      }}
    >
      <Attached images={images} remove={(index) => first.setDraft({ text, images: images.toSpliced(index, 1) })} />
      <textarea
        ref={field}
        dir="auto"
        rows={2}
        value={text}
        onInput={(event) => first.setDraft({ text: event.currentTarget.value, images })}
        aria-label="Message"
        placeholder="Type a message. Enter sends, Shift+Enter starts a new line."
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return;
          event.preventDefault();
          void send();
        }}
        onPaste={(event) => void add(event.clipboardData?.files ?? [])}
      />
      <div class="composer-foot">
        <Attach add={add} />
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

export function Attached({ images, remove }: { images: readonly string[]; remove: (index: number) => void }) {
  if (images.length === 0) return null;
  return (
    <ul class="attached">
      {images.map((url, index) => (
        <li key={url}>
          <img src={url} alt={`Attachment ${index + 1}`} />
          <IconAction label={`Remove image ${index + 1}`} icon="close" run={() => remove(index)} />
        </li>
      ))}
    </ul>
  );
}

function Attach({ add }: { add: (files: Iterable<File>) => unknown }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconAction label="Attach images" icon="image" run={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept="image/png,image/jpeg,image/webp,image/gif,image/bmp"
        aria-label="Image files"
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
        <Icon name="stop" filled /> Stop
      </button>
    );
  }
  return (
    <button type="submit" class="primary" disabled={!first.model.value}>
      <Icon name="send" /> Send
    </button>
  );
}
