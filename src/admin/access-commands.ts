/** Local commands about access: tokens, users, a lost password. */
import { resolve } from 'node:path';
import { type Auth, type IssuableRole, ISSUABLE_ROLES } from '../capabilities/auth/index.ts';
import { formatTimestamp, parseDurationMs } from '../lib/time.ts';
import { LIMITS } from '../lib/limits.ts';
import { normalizedName, storedNameProblem } from '../lib/text.ts';
import { type Command, type Local, type RecordAudit, table, UsageError, type Values } from './command.ts';

const TOKENS_AT_ONCE = 1_000;

/** Runs in one transaction, so that a change is stored together with its record in the audit trail. */
function onState(work: (auth: Auth, record: RecordAudit) => string[]) {
  return ({ withState }: Local): Promise<string[]> =>
    withState(({ database, auth, record }) => database.transaction(() => work(auth, record)));
}

export const ACCESS_COMMANDS: Record<string, Command> = {
  'create-token': {
    takes: [],
    options: ['role', 'name', 'expires-in', 'count'],
    prepare: (values) => {
      const request = { name: nameOf(values), role: roleOf(values.role), lifetimeMs: lifetimeOf(values) };
      const count = countOf(values.count);
      return onState((auth, record) =>
        Array.from({ length: count }, () => {
          const made = auth.tokens.create(request);
          record('admin_create_token', { token_id: made.record.id });
          return made.text;
        }),
      );
    },
  },
  'list-tokens': {
    takes: [],
    prepare: () =>
      onState((auth) => {
        const rows = auth.tokens
          .all()
          .map((token) => [
            token.id,
            token.kind,
            token.role,
            token.user?.name ?? '-',
            formatTimestamp(token.createdAtMs),
            token.expiresAtMs === undefined ? 'never' : formatTimestamp(token.expiresAtMs),
            token.lastUsedAtMs === undefined ? 'never' : formatTimestamp(token.lastUsedAtMs),
            token.name,
          ]);
        return table(['ID', 'KIND', 'ROLE', 'USER', 'MADE', 'EXPIRES', 'LAST USED', 'NAME'], rows);
      }),
  },
  'revoke-token': {
    takes: ['id'],
    prepare: (_values, [id = '']) =>
      onState((auth, record) => {
        auth.tokens.revoke(id);
        record('admin_revoke_token', { token_id: id });
        return [];
      }),
  },
  'list-users': {
    takes: [],
    prepare: () =>
      onState((auth) =>
        table(
          ['ID', 'ROLE', 'PASSWORD', 'MADE', 'NAME'],
          auth.users
            .all()
            .map(({ id, role, hasPassword, createdAtMs, name }) => [
              id,
              role,
              hasPassword ? 'set' : 'none',
              formatTimestamp(createdAtMs),
              name,
            ]),
        ),
      ),
  },
  'reset-access': {
    takes: [],
    options: ['revoke-tokens'],
    prepare: (values) =>
      onState((auth, record) => {
        const code = auth.resetAccess({ revokeTokens: values['revoke-tokens'] });
        record('admin_reset_access', { revoke_tokens: String(values['revoke-tokens']) });
        return [`Claim code: ${code}`, `It stands in ${resolve(auth.claim.file)} too, until it is used.`];
      }),
  },
};

function roleOf(text: string): IssuableRole {
  const role = ISSUABLE_ROLES.find((name) => name === text.toUpperCase());
  if (role === undefined) throw new UsageError(`--role must be one of: ${ISSUABLE_ROLES.join(', ')}`);
  return role;
}

function nameOf(values: Values): string {
  const name = normalizedName(values.name);
  const problem = storedNameProblem(name, LIMITS.http.nameLength);
  if (problem !== undefined) throw new UsageError(`--name ${problem}`);
  return name;
}

function lifetimeOf({ 'expires-in': text }: Values): number | undefined {
  if (text === undefined) return undefined;
  const lifetimeMs = Math.round(parseDurationMs(text) ?? 0);
  if (lifetimeMs === 0 || lifetimeMs > LIMITS.auth.tokenLifetimeMaxMs)
    throw new UsageError('--expires-in must be a time such as 30d or 12h, and at most 100y');
  return lifetimeMs;
}

function countOf(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > TOKENS_AT_ONCE)
    throw new UsageError(`--count must be a number from 1 to ${TOKENS_AT_ONCE}`);
  return count;
}
