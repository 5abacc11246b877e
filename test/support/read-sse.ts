/** Text of server-sent events → the frames in it. */
export interface Frames {
  /** Parsed `data:` frames, without `[DONE]`. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into chunks and errors alike
  events: any[];
  comments: string[];
  /** True if the stream ended with `data: [DONE]`. */
  done: boolean;
}

export function readSse(text: string): Frames {
  const frames: Frames = { events: [], comments: [], done: false };
  const parts = text.split('\n\n');
  if (parts.pop() !== '') throw new Error(`The last frame is not complete: ${text}`);
  for (const part of parts) {
    if (frames.done) throw new Error(`A frame after [DONE]: ${part}`);
    if (part === 'data: [DONE]') frames.done = true;
    else if (part.startsWith('data: {')) frames.events.push(JSON.parse(part.slice('data: '.length)));
    else if (part.startsWith(': ')) frames.comments.push(part.slice(2));
    else throw new Error(`Not a frame: ${part}`);
  }
  return frames;
}
