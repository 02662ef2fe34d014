/** Why something did not reach a server outside, in words for the person who typed its address. */

/** The message is a sentence for a person; it holds nothing that the server sent but its status. */
export class DeliveryError extends Error {
  override name = 'DeliveryError';
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|ALTNAME/;

/** Of an error of a connection to `place`; undefined when it says nothing that a person knows. */
export function connectionProblem(error: unknown, place: string): string | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  if (code === 'ECONNREFUSED') return `Nobody listens at ${place}.`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EDNS')
    return `The name of ${place} is not known here.`;
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return `There is no way to ${place} from this network.`;
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return `${place} ended the connection without an answer.`;
  if (CERTIFICATE.test(code)) return `The certificate of ${place} is not one to trust (${code}).`;
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') return `${place} does not speak TLS there (${code}).`;
  return undefined;
}

/** The innermost one: libraries wrap what the system said. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner =
    codeOf(error.cause) ?? (error instanceof AggregateError ? codeOf(error.errors[0]) : undefined);
  if (inner !== undefined) return inner;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
