/**
 * Tells a gateway what a request has used: in a header of a whole reply, and behind the last chunk of a streamed one, so
 * that the gateway need not read bodies. Clients that did not ask for it see nothing of it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Asks for the report. */
export const REPORT_HEADER = 'x-chasqui-report';
export const REPORT_USAGE = 'usage';

/** The report: prompt tokens, completion tokens, and those of the prompt that were cached, as `120,34,64`. */
export const USAGE_HEADER = 'x-chasqui-usage';

/** For replies that are sent whole. */
export function reportUsage(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply) => {
    if (isAsked(request)) reply.header(USAGE_HEADER, toReport(request));
  });
}

/** For streamed replies, to be called right before they end. */
export function reportUsageAtEnd(reply: FastifyReply): void {
  const { request, raw } = reply;
  if (isAsked(request) && raw.chunkedEncoding) raw.addTrailers({ [USAGE_HEADER]: toReport(request) });
}

function isAsked({ headers, record }: FastifyRequest): boolean {
  // A request whose URL is not valid has no record.
  return headers[REPORT_HEADER] === REPORT_USAGE && record !== null;
}

function toReport({ record }: FastifyRequest): string {
  return `${record.promptTokens},${record.generatedTokens},${record.cachedTokens}`;
}
