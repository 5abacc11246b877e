import { server } from '../state/app.js';
import { first } from '../state/chat-pages.js';
import { pickModel } from '../state/developer.js';
import { go } from '../state/route.js';
import { Action } from './button.js';

/** Actions for a downloaded model: chat with it, or start the server with it. */
export function UseModel({ model }: { model: string }) {
  const chat = async () => {
    await first.open(null);
    first.model.value = model;
    go('chat');
  };
  const serve = () => {
    pickModel(model);
    go('developer');
  };
  return (
    <>
      <Action label="Chat" icon="chat" run={chat} />
      {server.value.state === 'stopped' && <Action label="Start Server …" icon="developer" run={serve} />}
    </>
  );
}
