/** Why a connection to a server failed, as a sentence that says what a person can do. Pure. */

interface ServerAddress {
  /** With port. */
  host: string;
  hostname: string;
}

const SENTENCES: Readonly<Record<string, (server: ServerAddress) => string>> = {
  ECONNREFUSED: ({ host }) => `Nothing listens at ${host}.`,
  ENOTFOUND: ({ hostname }) => `No address is known of the name ${hostname}.`,
  EDNS: ({ hostname }) => `No address is known of the name ${hostname}.`,
  EAI_AGAIN: ({ hostname }) => `The name server did not answer for ${hostname}.`,
  EHOSTUNREACH: ({ host }) => `There is no way through the network to ${host}.`,
  ENETUNREACH: ({ host }) => `There is no way through the network to ${host}.`,
  ETIMEDOUT: ({ host }) => `${host} did not answer.`,
  ECONNRESET: ({ host }) => `${host} ended the connection before it had answered.`,
  EPIPE: ({ host }) => `${host} ended the connection before it had answered.`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ hostname }) =>
    `The certificate of the server is not for the name ${hostname}.`,
  CERT_HAS_EXPIRED: ({ host }) => `The certificate of ${host} has expired.`,
  CERT_NOT_YET_VALID: ({ host }) => `The certificate of ${host} is not valid yet: is the clock right?`,
  EPROTO: ({ host }) => `${host} does not speak TLS on this port.`,
};

const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const CERTIFICATE = /CERT|ALTNAME/;

/**
 * Undefined when the code of the error is not known here.
 * @param ownAuthority what to do about a certificate of an authority that the system does not know
 */
export function connectionFailure(
  error: unknown,
  server: ServerAddress,
  ownAuthority = '',
): string | undefined {
  const code = codeOf(error);
  if (code === undefined) return undefined;
  // The fault is in what the person gave: nothing was sent yet.
  if (code.startsWith('ERR_OSSL'))
    return `The certificate or the private key given for ${server.host} cannot be used; they must be whole, in PEM, of each other, and the key without a password.`;
  if (UNTRUSTED.has(code))
    return `The certificate of ${server.host} is of an authority that is not trusted here${ownAuthority}.`;
  if (code.startsWith('ERR_SSL')) return SENTENCES['EPROTO']?.(server);
  const sentence = SENTENCES[code]?.(server);
  if (sentence !== undefined || !CERTIFICATE.test(code)) return sentence;
  return `The certificate of ${server.host} is not one to trust (${code}).`;
}

/** The innermost code: libraries wrap the error of the system. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const inner = codeOf(error.cause);
  if (inner !== undefined) return inner;
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
