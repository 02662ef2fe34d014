/** The encodings of a body that the gateway reads: none but UTF-8, and nothing compressed (docs/interface/http.md#requests). */
import { gatewayError } from '../../lib/errors.ts';

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/i;
const READABLE = new Set(['', 'utf-8', 'utf8', 'us-ascii', 'ascii']);

/** @throws GatewayError unsupported_media_type (415) */
export function refuseForeignEncoding(headers: Headers): void {
  const coding = headers.get('content-encoding')?.trim().toLowerCase() ?? '';
  if (coding !== '' && coding !== 'identity')
    throw unsupported(
      'Content-Encoding',
      'The body is compressed. Send it as it is, without Content-Encoding.',
    );
  const charset = CHARSET.exec(headers.get('content-type') ?? '')?.[1] ?? '';
  if (!READABLE.has(charset.toLowerCase()))
    throw unsupported('Content-Type', `The body has the charset ${charset.slice(0, 40)}. Send it as UTF-8.`);
}

function unsupported(header: string, message: string): Error {
  return gatewayError('unsupported_media_type', 'unsupported_media_type', message, { header });
}
