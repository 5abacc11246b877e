import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { ChatMessage, UsedPassages } from '../../../api-types.js';
import { Action, CopyButton, IconAction } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { Markdown } from '../../parts/markdown.js';
import { type ChatSession, draftOf } from '../../state/chat-session.js';
import { type Attachments, countOf } from '../../state/drafts.js';
import { milliseconds, rate } from '../../state/format.js';
import { t } from '../../state/language.js';
import { go } from '../../state/route.js';
import { setTo } from '../../state/set-to.js';
import { ReadAloud } from '../voice/read-aloud.js';
import { Attached, FileName, Recorded } from './composer.js';
import { ToolCalls } from './tool-calls.js';

interface MessageProps {
  session: ChatSession;
  message: ChatMessage;
}

export function Message({ session, message }: MessageProps) {
  const editing = useSignal(false);
  const own = message.role === 'user';
  const live = session.live.value?.id === message.id ? session.growing.value : null;
  const { content, reasoning } = live ?? message;
  return (
    <article
      id={`message-${message.id}`}
      tabIndex={-1}
      class={`message ${message.role}`}
      aria-label={t(own ? 'you' : 'model')}
    >
      {!editing.value && <Sent attached={draftOf(message)} />}
      {reasoning && <Reasoning text={reasoning} open={live !== null && content === ''} />}
      {editing.value ? (
        <Editor session={session} message={message} close={setTo(editing, false)} />
      ) : own ? (
        <p class="own-text" dir="auto">
          {content}
        </p>
      ) : (
        <Markdown text={content} complete={live === null} preview />
      )}
      {message.passages && !live && <Passages session={session} passages={message.passages} />}
      {message.toolCalls && !editing.value && <ToolCalls session={session} message={message} />}
      {live && content === '' && !reasoning && <p class="waiting">{t('waitingForFirstToken')}</p>}
      {!live && !editing.value && <Foot session={session} message={message} edit={setTo(editing, true)} />}
      {live && <LiveStats stats={live.stats} />}
    </article>
  );
}

function Sent({ attached }: { attached: Attachments }) {
  const { images, audio, files } = attached;
  if (countOf(attached) === 0) return null;
  return (
    <div class="images">
      {images.map((url, index) => (
        <img key={url} src={url} alt={t('sentAttachment', { number: index + 1 })} />
      ))}
      {audio.map((url, index) => (
        <Recorded key={index} url={url} number={index + 1} />
      ))}
      {files.map((file, index) => (
        <details key={index} class="file-chip">
          <summary>
            <FileName file={file} />
          </summary>
          <pre dir="auto">{file.text}</pre>
        </details>
      ))}
    </div>
  );
}

/** The passages of files that the model was given. */
function Passages({ session, passages: { ranking, model, used } }: { session: ChatSession; passages: UsedPassages }) {
  const fileOf = ({ message, file }: UsedPassages['used'][number]) =>
    session.messages.value.find(({ id }) => id === message)?.files?.[file];
  return (
    <details class="tool-call">
      <summary>{t('passagesUsed', { count: used.length })}</summary>
      <p class="help">{t(rankings[ranking], { model: model ?? '' })}</p>
      {used.map((passage) => (
        <details key={`${passage.message} ${passage.file} ${passage.start}`} class="file-chip">
          <summary>
            {t('linesOfFile', {
              file: fileOf(passage)?.name ?? '',
              first: String(passage.firstLine),
              last: String(passage.lastLine),
            })}
          </summary>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable with the keyboard. */}
          <pre dir="auto" tabIndex={0}>
            {fileOf(passage)?.text.slice(passage.start, passage.end)}
          </pre>
        </details>
      ))}
    </details>
  );
}

const rankings = { meaning: 'chosenByMeaning', words: 'chosenByWords', start: 'onlyBeginnings' } as const;

function Reasoning({ text, open }: { text: string; open: boolean }) {
  return (
    <details class="reasoning" open={open}>
      <summary>{t('reasoning')}</summary>
      <Markdown text={text} complete={!open} />
    </details>
  );
}

function LiveStats({ stats }: { stats: ChatMessage['stats'] }) {
  const first = stats?.firstTokenMs;
  return first ? <p class="help">{t('firstTokenAfter', { time: milliseconds(Number(first)) })}</p> : null;
}

function Editor({ session, message, close }: MessageProps & { close: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const before = draftOf(message);
  const attached = useSignal<Attachments>(before);
  useEffect(() => field.current?.focus(), []);
  const save = async () => {
    const text = field.current?.value ?? '';
    close();
    const isSame = text === before.text && countOf(attached.value) === countOf(before);
    if (!isSame) await session.edit(message.id, { ...attached.value, text });
  };
  return (
    <div class="editor">
      <Attached
        attached={attached.value}
        change={(left) => {
          attached.value = left;
        }}
      />
      <textarea ref={field} dir="auto" aria-label={t('editMessage')} rows={6} defaultValue={message.content} />
      <div class="row">
        <Action label={t(message.role === 'user' ? 'sendEdited' : 'save')} kind="primary" run={save} />
        <Action label={t('cancel')} run={close} />
      </div>
    </div>
  );
}

function Foot({ session, message, edit }: MessageProps & { edit: () => void }) {
  const { id, role, content } = message;
  const busy = session.busy.value;
  const last = session.branch.value.at(-1)?.id === id;
  return (
    <footer class="message-foot">
      <Branches session={session} message={message} />
      <CopyButton label={t('copyMessage')} text={() => content} />
      {role === 'assistant' && content !== '' && <ReadAloud id={id} />}
      <IconAction label={t('editMessage')} icon="edit" disabled={busy} run={edit} />
      <IconAction
        label={t(role === 'user' ? 'askAgain' : 'regenerate')}
        icon="retry"
        disabled={busy}
        run={() => session.regenerate(id)}
      />
      {role === 'assistant' && last && !message.toolCalls && (
        <IconAction label={t('continue')} icon="continue" disabled={busy} run={() => session.continue(id)} />
      )}
      <IconAction
        label={t('branchOff')}
        icon="compare"
        disabled={busy}
        run={async () => go('chat', await session.branchOff(id))}
      />
      <Delete session={session} message={message} />
      <Stats message={message} />
    </footer>
  );
}

function Delete({ session, message }: MessageProps) {
  const asking = useSignal(false);
  const ask = (on: boolean) => {
    asking.value = on;
  };
  const remove = async () => {
    ask(false);
    await session.delete(message.id);
  };
  return (
    <>
      <IconAction label={t('deleteMessage')} icon="trash" disabled={session.busy.value} run={() => ask(true)} />
      {asking.value && (
        <Dialog title={t('deleteMessageQuestion')} close={() => ask(false)}>
          <p>{t('messagesStay')}</p>
          <div class="dialog-foot">
            <Action label={t('keepIt')} run={() => ask(false)} />
            <Action label={t('delete')} kind="danger" icon="trash" run={remove} />
          </div>
        </Dialog>
      )}
    </>
  );
}

function Branches({ session, message }: MessageProps) {
  const { at, all } = session.alternatives(message);
  if (all.length < 2) return null;
  const to = (index: number) => session.switchTo((all[index] as ChatMessage).id);
  return (
    <span class="branches">
      <IconAction label={t('previousVersion')} icon="back" disabled={at === 0} run={() => to(at - 1)} />
      <span>
        {at + 1}/{all.length}
      </span>
      <IconAction label={t('nextVersion')} icon="next" disabled={at === all.length - 1} run={() => to(at + 1)} />
    </span>
  );
}

function Stats({ message }: { message: ChatMessage }) {
  const stats = message.stats as Partial<Record<string, number | string | null>> | undefined;
  if (!stats) return null;
  const parts = [
    rate(stats.tokensPerSecond as number | null),
    stats.completionTokens && t('tokenCount', { count: Number(stats.completionTokens) }),
    stats.firstTokenMs && t('firstAfter', { time: milliseconds(Number(stats.firstTokenMs)) }),
    stats.finishReason === 'length' && t('stoppedAtLimit'),
    stats.finishReason === null && t('stopped'),
  ].filter(Boolean);
  return <span class="help stats">{parts.join(' · ')}</span>;
}
