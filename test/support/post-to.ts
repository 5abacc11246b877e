import type { FastifyInstance, LightMyRequestResponse } from 'fastify';

/** Posts JSON to one path of an app: for endpoints other than that of chats. */
export function postTo(app: FastifyInstance, url: string) {
  return (body: object): Promise<LightMyRequestResponse> =>
    app.inject({ method: 'POST', url, headers: { 'content-type': 'application/json' }, payload: JSON.stringify(body) });
}

/** Returns the data of each named event. The name of an event must equal the type of its data. Skips a final `[DONE]`. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into events of every kind
export function readNamedEvents(text: string): any[] {
  const frames = text.split('\n\n');
  if (frames.pop() !== '') throw new Error(`The last frame is not complete: ${text}`);
  if (frames.at(-1) === 'data: [DONE]') frames.pop();
  return frames
    .filter((frame) => !frame.startsWith(':'))
    .map((frame) => {
      const [, name, json] = /^event: (\S+)\ndata: (.*)$/.exec(frame) ?? [];
      if (json === undefined) throw new Error(`Not a named event: ${frame}`);
      const data = JSON.parse(json);
      if (data.type !== name) throw new Error(`The event ${name} has the type ${data.type}`);
      return data;
    });
}

/** A text for the fake parser, a token for each character; what begins a call is one. */
export function inPieces(text: string): { text: string }[][] {
  return (text.match(/<call>\w+ |./gs) ?? []).map((piece) => [{ text: piece }]);
}
