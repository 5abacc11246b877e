import { useSignal } from '@preact/signals';
import { CodeBlock } from '../../parts/code-block.js';
import { Select } from '../../parts/select.js';
import { server, settings } from '../../state/app.js';
import { chosenPort, selectedModel } from '../../state/developer.js';
import { t } from '../../state/language.js';
import { snippetsFor } from '../../state/snippets.js';

export function Snippets() {
  const chosen = useSignal(0);
  const address = server.value.address ?? `http://localhost:${chosenPort.value}`;
  const asksForKey = settings.value?.hasServerKey ?? false;
  const snippets = snippetsFor(address, selectedModel.value || 'any-name', asksForKey);
  const snippet = snippets[chosen.value] ?? snippets[0];
  if (!snippet) return null;
  return (
    <section class="card" aria-labelledby="snippets-title">
      <header class="card-head">
        <h2 id="snippets-title">{t('useIt')}</h2>
        <Select
          label={t('client')}
          value={chosen.value}
          options={snippets.map(({ name }, index) => [index, name ?? t('codingAgents')])}
          choose={(index) => {
            chosen.value = Number(index);
          }}
        />
      </header>
      <CodeBlock code={snippet.code} language={snippet.language} closed />
      <p class="help">{asksForKey ? t('anyNameWithKey') : t('anyNameNoKey')}</p>
    </section>
  );
}
