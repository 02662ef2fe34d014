/** The certificate of the gateway's own authority, for browsers and devices that should trust it. It holds no secret. */
import { LIMITS } from '../lib/limits.ts';
import { unprocessable } from '../lib/errors.ts';
import { route, type Route } from '../platform/http/index.ts';

const HEADERS = { 'Cache-Control': 'no-cache' };

/** @param caPem undefined: nothing listens over TLS */
export function authorityRoutes(caPem: string | undefined): Route[] {
  const file = (
    extension: string,
    mediaType: string,
    content: (pem: string) => string | Uint8Array<ArrayBuffer>,
  ) =>
    route({
      role: null,
      // So a person can claim the box over HTTPS without a warning of the browser.
      beforeClaim: true,
      anonymousPerMinute: LIMITS.http.anonymousDescriptionPerMinute,
      operation: `get_authority_${extension}`,
      about: `The certificate of the gateway's own authority as a file, ${extension === 'pem' ? 'PEM' : 'DER'}: trust it in a browser or a device to reach this gateway over TLS.`,
      GET: [`/ca.${extension}`],
      answer: { mediaType, about: 'The certificate, without a key.' },
      errors: ['422 not_available_on_gateway'],
      handle: () => {
        if (caPem === undefined)
          throw unprocessable(
            'not_available_on_gateway',
            'TLS is off on this gateway, so that it has no certificate authority.',
          );
        return new Response(content(caPem), {
          headers: {
            ...HEADERS,
            'Content-Type': mediaType,
            'Content-Disposition': `attachment; filename="energy-gateway-ca.${extension}"`,
          },
        });
      },
    });
  return [
    file('pem', 'application/x-pem-file', (pem) => pem),
    // Form of a certificate that operating systems and browsers open with the question whether to trust it.
    file('crt', 'application/x-x509-ca-cert', derOf),
  ];
}

function derOf(pem: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
}
