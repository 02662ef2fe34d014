/** Fields that several request bodies share. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { parseTimestampMs } from '../../lib/timestamp.ts';
import { shape } from '../../platform/http/index.ts';

const { targets: limits } = LIMITS;

export const pem = v.pipe(
  v.string(),
  v.maxLength(limits.pemLength),
  v.check((text) => text.includes('-----BEGIN CERTIFICATE-----'), 'must be certificates in PEM'),
  v.description('Authorities to trust instead of those of the system, as PEM.'),
);

export const timestampMs = v.pipe(
  v.string(),
  shape.wire(shape.WIRE.timestamp),
  shape.parsed((text: string) => {
    const atMs = parseTimestampMs(text) ?? -1;
    return atMs >= 0 ? atMs : undefined;
  }, 'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'),
);
