/** Requests and answers of access operations as they stand on the wire. */
import * as v from 'valibot';
import { parseDurationMs } from '../../lib/duration.ts';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { query } from '../../platform/http/index.ts';
import { effectiveRole, ISSUABLE_ROLES, TOKEN_KINDS, type TokenRecord, type User } from './model.ts';
import type { Session } from './sign-in.ts';

const { passwordLengthMin, passwordLengthMax } = LIMITS.auth;
const { nameLength, pageItems } = LIMITS.http;

const name = v.pipe(
  v.string(),
  v.trim(),
  v.minLength(1, 'must not be empty'),
  v.maxLength(nameLength, `must have at most ${nameLength} characters`),
);

const role = v.picklist(ISSUABLE_ROLES, `must be one of: ${ISSUABLE_ROLES.join(', ')}`);

const newPassword = v.pipe(
  v.string(),
  v.minLength(passwordLengthMin, `must have at least ${passwordLengthMin} characters`),
  v.maxLength(passwordLengthMax, `must have at most ${passwordLengthMax} characters`),
);

/** Any text of bounded length: whether it fits is not a matter of form. */
const secret = v.pipe(v.string(), v.maxLength(passwordLengthMax, 'is too long'));

const lifetimeMs = v.pipe(
  v.string(),
  v.rawTransform<string, number>(({ dataset, addIssue, NEVER }) => {
    const durationMs = parseDurationMs(dataset.value);
    if (durationMs !== undefined && durationMs > 0 && Number.isSafeInteger(Math.round(durationMs)))
      return Math.round(durationMs);
    addIssue({ message: 'must be a duration such as 12h or 30d' });
    return NEVER;
  }),
);

const absent = <Schema extends v.GenericSchema>(schema: Schema) =>
  v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );

export const claimBody = v.object({
  claim_code: secret,
  password: newPassword,
  name: v.nullish(name, 'installer'),
});

export const loginBody = v.object({ name: secret, password: secret });

export const passwordBody = v.object({ current_password: secret, password: newPassword });

export const createUserBody = v.object({ name, role, password: newPassword });

export const updateUserBody = v.object({ role: absent(role), password: absent(newPassword) });

export const createTokenBody = v.object({ name, role, expires_in: absent(lifetimeMs) });

const page = { limit: query.limit(pageItems, pageItems), offset: query.offset() };

export const listUsersQuery = v.object(page);

export const listTokensQuery = v.object({
  ...page,
  kind: query.choice([...TOKEN_KINDS, 'ALL'], 'TOKEN'),
});

export function pageOf<Item>(items: readonly Item[], { limit, offset }: { limit: number; offset: number }) {
  return items.slice(offset, offset + limit);
}

export function userToWire(user: User): Record<string, unknown> {
  return {
    id: user.id,
    name: user.name,
    role: user.role,
    has_password: user.hasPassword,
    created_at: formatTimestamp(user.createdAtMs),
  };
}

export function tokenToWire(token: TokenRecord, isExpired: boolean): Record<string, unknown> {
  const { user, expiresAtMs, lastUsedAtMs } = token;
  return {
    id: token.id,
    kind: token.kind,
    name: token.name,
    role: effectiveRole(token),
    ...(user && { user: { id: user.id, name: user.name } }),
    created_at: formatTimestamp(token.createdAtMs),
    ...(expiresAtMs !== undefined && { expires_at: formatTimestamp(expiresAtMs) }),
    expired: isExpired,
    ...(lastUsedAtMs !== undefined && { last_used_at: formatTimestamp(lastUsedAtMs) }),
  };
}

export function sessionToWire({ text, record, user }: Session): Record<string, unknown> {
  return {
    token: text,
    role: record.role,
    ...(record.expiresAtMs !== undefined && { expires_at: formatTimestamp(record.expiresAtMs) }),
    user: userToWire(user),
  };
}
