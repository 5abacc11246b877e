import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { announce } from '../../parts/announcer.js';
import { Action } from '../../parts/button.js';
import { Icon } from '../../parts/icon.js';
import { LoadProgress } from '../../parts/load-progress.js';
import { ModelPicker } from '../../parts/model-parts.js';
import { post } from '../../state/api.js';
import { chatModels, loadedOf, loadModel, unloadModel } from '../../state/app.js';
import { shownHit } from '../../state/chat-pages.js';
import type { ChatSession } from '../../state/chat-session.js';
import { fetchFit } from '../../state/developer.js';
import { percent, tokens } from '../../state/format.js';
import { t } from '../../state/language.js';
import { attempt } from '../../state/notices.js';
import { applyDefaultPreset } from '../../state/presets.js';
import { Message } from './message.js';

interface ConversationProps {
  session: ChatSession;
  name: string;
  /** Whether completions are announced; not for two at once. */
  spoken: boolean;
}

export function Conversation({ session, name, spoken }: ConversationProps) {
  const place = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const top = useRef(0);
  const shown = useRef<string | null>(null);
  const follows = useSignal(true);
  const branch = session.branch.value;
  useSentences(session, spoken);
  const live = session.live.value?.id;
  const id = session.id.value;
  useEffect(() => {
    // Not at the end of a completion: the user may be reading above it.
    if (!place.current || (!live && shown.current === id)) return;
    shown.current = id;
    follows.value = true;
    place.current.scrollTop = place.current.scrollHeight;
  }, [live, id, follows]);
  const hit = spoken ? shownHit.value : null;
  useEffect(() => {
    if (hit === null) return;
    const found = [...(content.current?.children ?? [])].find((each) => each.id === `message-${hit}`);
    follows.value = false;
    found?.scrollIntoView({ block: 'start' });
    (found as HTMLElement | undefined)?.focus({ preventScroll: true });
  }, [hit, id, follows]);
  useEffect(() => {
    const element = place.current;
    if (!element || !content.current) return;
    // Follows the end while a completion grows, and when images, errors or the width change the height.
    const observer = new ResizeObserver(() => {
      if (follows.peek()) element.scrollTop = element.scrollHeight;
      // Shorter content moves the position, which is no scrolling up.
      top.current = element.scrollTop;
    });
    for (const each of [element, content.current]) observer.observe(each);
    return () => observer.disconnect();
  }, [follows]);
  const watch = () => {
    const element = place.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    // Only scrolling up ends it: a distance may also come from content that has grown meanwhile.
    if (scrollHeight - scrollTop - clientHeight < 60) follows.value = true;
    else if (scrollTop < top.current) follows.value = false;
    top.current = scrollTop;
  };
  return (
    <section class="conversation" aria-label={name} data-chat={session.id.value}>
      <header class="conversation-head">
        <ModelPicker
          label={t('model')}
          plain
          models={chatModels.value}
          value={session.model.value}
          disabled={session.busy.value}
          choose={(key) => {
            session.model.value = key;
            applyDefaultPreset(session);
          }}
        />
        <ModelState session={session} />
      </header>
      <div
        class={follows.value ? 'messages followed' : 'messages'}
        ref={place}
        onScroll={watch}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard.
        tabIndex={0}
        role="log"
        aria-live="off"
        aria-label={t('messages')}
      >
        <div class="messages-content" ref={content}>
          {branch.length === 0 && <Greeting />}
          {branch.map((message) => (
            <Message key={message.id} session={session} message={message} />
          ))}
          <Trouble session={session} />
        </div>
      </div>
      {!follows.value && (
        <div class="jump">
          <Action
            label={t('scrollToEnd')}
            icon="down"
            run={() => {
              follows.value = true;
              place.current?.scrollTo({ top: place.current.scrollHeight });
            }}
          />
        </div>
      )}
    </section>
  );
}

function Greeting() {
  return (
    <div class="empty">
      <p class="empty-title">{t('greeting')}</p>
      <p>{t('staysHere')}</p>
    </div>
  );
}

/** Load state, memory use and context use. */
function ModelState({ session }: { session: ChatSession }) {
  const loaded = loadedOf(session.model.value);
  if (loaded?.state === 'loading') {
    return (
      <div class="row">
        <LoadProgress share={loaded.progress} />
        <Action label={t('cancel')} kind="quiet" run={() => post('/models/cancel', { model: session.model.value })} />
      </div>
    );
  }
  if (!loaded) return <Action label={t('load')} kind="quiet" run={() => loadModel(session.model.value)} />;
  return <ContextUse session={session} size={loaded.contextLength} />;
}

function ContextUse({ session, size }: { session: ChatSession; size: number | null }) {
  const stats = session.branch.value.findLast((message) => message.stats?.promptTokens)?.stats;
  const live = session.growing.value?.stats;
  const prompt = Number(live?.promptTokens ?? stats?.promptTokens ?? 0);
  const used = prompt + Number(live?.completionTokens ?? stats?.completionTokens ?? 0);
  return size && <TokenCount used={used} size={size} />;
}

function TokenCount({ used, size }: { used: number; size: number }) {
  return (
    <span class="muted" title={t('contextUseTitle')}>
      {t('contextUse', { used, total: size, share: percent(used / size) })}
    </span>
  );
}

/** The error of the last completion, with remedies. */
function Trouble({ session }: { session: ChatSession }) {
  const error = session.error.value;
  if (!error) return null;
  const isFull = error.code === 'context_length_exceeded';
  const hasFiles = session.branch.value.some(({ files }) => files !== undefined);
  return (
    <div class="trouble" role="alert">
      <p>
        <Icon name="warning" /> {isFull ? t('chatTooLong') : error.message}
        {error.n_ctx && <TokenCount used={error.n_prompt_tokens ?? 0} size={error.n_ctx} />}
      </p>
      <div class="row">
        {isFull && hasFiles && <LongFiles session={session} />}
        {isFull && <WhenFull session={session} />}
        {isFull && <OtherContext session={session} factor={2} />}
        {/memory/i.test(`${error.code} ${error.message}`) && <OtherContext session={session} factor={0.5} />}
        <Action label={t('tryAgain')} icon="retry" run={() => session.retry()} />
      </div>
    </div>
  );
}

async function retryWith(session: ChatSession, choice: { whenFull: string } | { longFiles: string }): Promise<void> {
  session.settings.value = { ...session.settings.value, ...choice };
  await session.retry();
}

function WhenFull({ session }: { session: ChatSession }) {
  return (
    <>
      <Action label={t('leaveOutOldest')} run={() => retryWith(session, { whenFull: 'rolling' })} />
      <Action label={t('summarizeOldest')} run={() => retryWith(session, { whenFull: 'summary' })} />
    </>
  );
}

function LongFiles({ session }: { session: ChatSession }) {
  return (
    <>
      <Action label={t('usePassages')} kind="primary" run={() => retryWith(session, { longFiles: 'passages' })} />
      <Action label={t('useBeginnings')} run={() => retryWith(session, { longFiles: 'start' })} />
    </>
  );
}

/** Offers another context length if it fits into memory. */
function OtherContext({ session, factor }: { session: ChatSession; factor: number }) {
  const model = session.model.value;
  const now = loadedOf(model)?.contextLength ?? 4096;
  const trained = chatModels.value.find(({ key }) => key === model)?.max_context_length ?? now * factor;
  const wanted = Math.max(512, Math.min(now * factor, trained));
  const fits = useSignal(false);
  useEffect(() => {
    const controller = new AbortController();
    fetchFit(model, wanted, controller.signal)
      .then((fit) => {
        fits.value = wanted !== now && fit.contextThatFits >= wanted;
      })
      .catch(() => undefined);
    return () => controller.abort();
  }, [model, now, wanted, fits]);
  if (!fits.value) return null;
  return (
    <Action
      label={t('loadWithContext', { context: tokens(wanted) })}
      run={() => attempt(() => reloadWith(session, wanted))}
    />
  );
}

async function reloadWith(session: ChatSession, contextSize: number): Promise<void> {
  const model = session.model.value;
  const loaded = loadedOf(model);
  if (loaded) await unloadModel(loaded.id);
  await loadModel(model, { contextSize });
  await session.retry();
}

/** Announces a completion sentence by sentence. */
function useSentences(session: ChatSession, spoken: boolean): void {
  const said = useRef({ id: '', length: 0 });
  const live = session.growing.value;
  useEffect(() => {
    if (!spoken || !live) return;
    // Text that was there before is not announced.
    if (said.current.id !== live.id) said.current = { id: live.id, length: live.content.length };
    const text = live.content;
    const end = endOfSentence(text, said.current.length);
    if (end <= said.current.length) return;
    announce(text.slice(said.current.length, end).replace(/[*_`#|]/g, ''));
    said.current.length = end;
  });
  useEffect(() => {
    if (live || !spoken || !said.current.id) return;
    const text = session.branch.peek().at(-1)?.content ?? '';
    announce(`${text.slice(said.current.length).replace(/[*_`#|]/g, '')} ${t('endOfCompletion')}`);
    said.current = { id: '', length: 0 };
  }, [live, spoken, session]);
}

function endOfSentence(text: string, from: number): number {
  const ends = [...text.slice(from).matchAll(/[.!?:]\s|\n\n/g)];
  const last = ends.at(-1);
  return last ? from + last.index + last[0].length : from;
}
