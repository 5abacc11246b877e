/** The chat page and its files, which another part builds. */
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface ChatPage {
  contentPolicy: string;
  /** Its main element has the id `web-page`. Paths of files start with `/assets/`. */
  html(): string;
  /** Returns null for unknown names. */
  sendAsset(request: FastifyRequest, reply: FastifyReply, name: string): FastifyReply | null;
}
