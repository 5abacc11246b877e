/** The body of every failure, in every route: OpenAI's envelope. */
import type { ErrorCode, ErrorType } from '../errors.js';

export interface ErrorBody {
  error: { message: string; type: ErrorType; param: string | null; code: ErrorCode };
}
