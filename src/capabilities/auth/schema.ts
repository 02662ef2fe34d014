/** Requests and answers of access operations as they stand on the wire. */
import * as v from 'valibot';
import { parseDurationMs } from '../../lib/time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { query, shape } from '../../platform/http/index.ts';
import { effectiveRole, ISSUABLE_ROLES, TOKEN_KINDS, type TokenRecord, type User } from './model.ts';
import type { Session } from './sign-in.ts';

const { passwordLengthMin, passwordLengthMax, tokenLifetimeMaxMs } = LIMITS.auth;

const name = shape.name();

const role = shape.oneOf(ISSUABLE_ROLES);

const newPassword = v.pipe(
  v.string(),
  v.minLength(passwordLengthMin, `must have at least ${passwordLengthMin} characters`),
  v.maxLength(passwordLengthMax, `must have at most ${passwordLengthMax} characters`),
  v.examples(['a long sentence']),
);

/** Any text of bounded length: whether it fits is not a matter of form. */
const secret = v.pipe(v.string(), v.maxLength(passwordLengthMax, 'is too long'));

const lifetimeMs = v.pipe(
  v.string(),
  shape.wire({ ...shape.WIRE.duration, examples: ['30d'] }),
  shape.parsed((text: string) => {
    const durationMs = Math.round(parseDurationMs(text) ?? 0);
    return durationMs > 0 && durationMs <= tokenLifetimeMaxMs ? durationMs : undefined;
  }, 'a duration such as 12h or 30d, and at most 100y'),
);

const userShape = shape.named(
  'User',
  v.object({
    id: v.string(),
    name: v.string(),
    role: v.picklist(ISSUABLE_ROLES),
    has_password: shape.about(v.boolean(), 'False after access was reset.'),
    created_at: shape.instant(),
  }),
  {
    id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
    name: 'anna',
    role: 'OWNER',
    has_password: true,
    created_at: '2026-03-01T08:00:00.123Z',
  },
);

const tokenShape = shape.named(
  'AccessToken',
  v.object({
    id: v.string(),
    kind: v.picklist(TOKEN_KINDS),
    name: v.string(),
    role: v.picklist(ISSUABLE_ROLES),
    user: v.optional(v.object({ id: v.string(), name: v.string() })),
    created_at: shape.instant(),
    expires_at: v.optional(shape.instant()),
    expired: v.boolean(),
    last_used_at: v.optional(shape.instant()),
  }),
  {
    id: '0d9f1a52-51d7-4f51-9c66-8f8f3f6c2b10',
    kind: 'TOKEN',
    name: 'dashboard',
    role: 'READONLY',
    created_at: '2026-03-01T08:00:00.123Z',
    expired: false,
  },
);

export type UserOnWire = v.InferOutput<typeof userShape>;
export type AccessTokenOnWire = v.InferOutput<typeof tokenShape>;
export type MeOnWire = v.InferOutput<typeof accessShapes.me>['me'];
export type ClaimOnWire = v.InferOutput<typeof accessShapes.claim>['claim'];

export const accessShapes = {
  claim: v.object({
    claim: v.object({
      claimed: v.boolean(),
      logged_in: v.optional(
        shape.about(v.literal(true), 'The caller may read more than this; absent otherwise.'),
      ),
    }),
  }),
  session: v.object({
    token: v.pipe(v.string(), v.examples(['opaque text'])),
    role: v.picklist(ISSUABLE_ROLES),
    expires_at: v.optional(shape.instant()),
    user: userShape,
  }),
  me: v.object({
    me: v.object({
      kind: v.picklist(['token', 'user', 'rule', 'device', 'target', 'anonymous']),
      id: v.string(),
      name: v.string(),
      role: shape.role(),
    }),
  }),
  user: v.object({ user: userShape }),
  users: shape.listOf('users', userShape),
  token: v.object({
    token: shape.about(v.string(), 'The text of the token; shown once.'),
    access_token: tokenShape,
  }),
  accessToken: v.object({ access_token: tokenShape }),
  tokens: shape.listOf('access_tokens', tokenShape),
};

export const claimBody = v.pipe(
  v.object({ claim_code: secret, password: newPassword, name: v.nullish(name, 'installer') }),
  shape.example({ claim_code: 'ABCD-EFGH-JKLM', password: 'a long sentence' }),
);

export const loginBody = v.pipe(
  v.object({ name: secret, password: secret }),
  shape.example({ name: 'installer', password: 'a long sentence' }),
);

const revokeTokens = shape.about(
  v.nullish(v.boolean(), false),
  'Ends every access token that acts for the user, too.',
);

export const passwordBody = v.pipe(
  v.object({ current_password: secret, password: newPassword, revoke_tokens: revokeTokens }),
  shape.example({ current_password: 'a long sentence', password: 'another long sentence' }),
);

/** A user as a caller names it, with a password. */
export const newUserBody = v.pipe(
  v.object({ name, role, password: newPassword }),
  shape.example({ name: 'anna', role: 'OWNER', password: 'a long sentence' }),
);

export const updateUserBody = v.pipe(
  v.object({
    role: shape.unlessNull(role),
    password: shape.unlessNull(newPassword),
    revoke_tokens: revokeTokens,
  }),
  shape.example({ role: 'USER' }),
);

export const createTokenBody = v.pipe(
  v.object({ name, role, expires_in: shape.unlessNull(lifetimeMs) }),
  shape.example({ name: 'dashboard', role: 'READONLY', expires_in: '30d' }),
);

export const listTokensQuery = v.object({
  ...query.page(),
  kind: query.choice([...TOKEN_KINDS, 'ALL'], 'TOKEN', 'Access tokens, sessions of logins, or both.'),
});

export const userToWire = (user: User) => shape.filled(userShape, user);

export function tokenToWire({ user, ...token }: TokenRecord, isExpired: boolean) {
  return {
    ...shape.filled(tokenShape, { ...token, isExpired }),
    role: effectiveRole({ ...token, user }),
    ...(user && { user: { id: user.id, name: user.name } }),
  };
}

export function sessionToWire({ text, record, user }: Session) {
  return {
    token: text,
    ...shape.filled(accessShapes.session, record),
    user: userToWire(user),
  };
}
