/** The dialog with the definition of MCP servers as JSON. */
import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Action } from '../../parts/button.js';
import { Dialog } from '../../parts/dialog.js';
import { wordsOf } from '../../state/api.js';
import { t } from '../../state/language.js';
import { saveServers } from '../../state/mcp.js';

export interface EditedServer {
  /** `null`: new servers. */
  replaces: string | null;
  text: string;
}

/** An example in the format of the file, which is the same in all languages. */
const example = JSON.stringify({ mcpServers: { files: { command: 'npx', args: ['-y', 'server', '/tmp'] } } }, null, 2);

export function McpEditor({ server: { replaces, text }, close }: { server: EditedServer; close: () => void }) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const error = useSignal<string | null>(null);
  // The dialog has focused its first button.
  useEffect(() => field.current?.focus(), []);
  const save = async () => {
    try {
      await saveServers(field.current?.value ?? '', replaces);
      close();
    } catch (problem) {
      error.value = wordsOf(problem);
    }
  };
  return (
    <Dialog title={replaces === null ? t('mcpAdd') : t('mcpEdit', { name: replaces })} close={close}>
      <div class="field mcp-editor">
        <label for={id}>{t('mcpDefinition')}</label>
        <textarea
          ref={field}
          id={id}
          rows={10}
          spellcheck={false}
          placeholder={example}
          defaultValue={text}
          aria-describedby={`${id}-help`}
          aria-invalid={error.value !== null}
        />
        <p class="help" id={`${id}-help`}>
          {t('mcpDefinitionHelp')}
        </p>
        {error.value !== null && (
          <p class="problem" role="alert">
            {error.value}
          </p>
        )}
      </div>
      <div class="dialog-foot">
        <Action label={t('cancel')} run={close} />
        <Action label={t('save')} kind="primary" run={save} />
      </div>
    </Dialog>
  );
}
