/** Fields that several request bodies share. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { parseInstantMs } from '../../lib/time.ts';
import { shape } from '../../platform/http/index.ts';

const { targets: limits } = LIMITS;

export const pem = v.pipe(
  v.string(),
  v.maxLength(limits.pemLength),
  v.check((text) => text.includes('-----BEGIN CERTIFICATE-----'), 'must be certificates in PEM'),
  v.description('Authorities to trust instead of those of the system, as PEM.'),
);

export const timestampMs = v.pipe(
  v.union([v.number(), v.string()], 'must be Unix seconds or an RFC 3339 timestamp'),
  shape.wire({ anyOf: [{ type: 'number', minimum: 0 }, shape.WIRE.timestamp] }),
  shape.parsed((given: string | number) => {
    const atMs = parseInstantMs(given) ?? -1;
    return atMs >= 0 ? atMs : undefined;
  }, 'Unix seconds or an RFC 3339 timestamp such as 2026-03-01T08:00:00Z'),
);
