import { addressKey } from '../../lib/address.ts';
import { gatewayError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import {
  type Call,
  endedSessionCookies,
  JSON_HEADERS,
  listed,
  type Principal,
  query,
  refuseForeignForm,
  route,
  type Route,
  sessionCookie,
  sessionTokensOf,
  shape,
} from '../../platform/http/index.ts';
import type { TokenRecord } from './model.ts';
import * as wire from './schema.ts';
import type { Auth } from './service.ts';
import type { Caller, Session } from './sign-in.ts';

/** Operations on access: an extension of the interface under `/v3/auth`. */
export function authRoutes(auth: Auth): Route[] {
  return [
    ...signInRoutes(auth),
    ...ownRoutes(auth),
    ...userRoutes(auth),
    ...changingUserRoutes(auth),
    ...tokenRoutes(auth),
  ];
}

const WRONG = '403 access_denied';
const THROTTLED = '429 too_many_requests';

function signInRoutes(auth: Auth): Route[] {
  return [
    route({
      operation: 'get_claim',
      about: 'Whether somebody has claimed this gateway.',
      answer: wire.accessShapes.claim,
      GET: ['/v3/auth/claim'],
      role: null,
      beforeClaim: true,
      handle: ({ isAdmitted }) => ({
        claim: { claimed: auth.claim.isClaimed(), ...(isAdmitted && { logged_in: true as const }) },
      }),
    }),
    route({
      operation: 'claim',
      about: 'Creates the first user, an installer, with the code that the gateway shows when it starts.',
      answer: wire.accessShapes.session,
      POST: ['/v3/auth/claim'],
      role: null,
      beforeClaim: true,
      body: wire.claimBody,
      errors: [WRONG, '409 already_claimed', THROTTLED],
      handle: async (call) => {
        refuseForeignForm(call);
        const { claim_code: code, name, password } = call.body;
        return sessionAnswer(auth, call, await auth.signIn.claim(callerOf(call), code, name, password));
      },
    }),
    route({
      operation: 'login',
      about: 'Opens a session; the token is in the answer for programs and in a cookie for browsers.',
      answer: wire.accessShapes.session,
      POST: ['/v3/auth/login'],
      role: null,
      body: wire.loginBody,
      errors: [WRONG, THROTTLED],
      handle: async (call) => {
        refuseForeignForm(call);
        const { name, password } = call.body;
        return sessionAnswer(auth, call, await auth.signIn.logIn(callerOf(call), name, password));
      },
    }),
    route({
      operation: 'logout',
      about: 'Ends the session of the caller; without one nothing happens.',
      answer: shape.nothing(),
      POST: ['/v3/auth/logout'],
      role: null,
      errors: [WRONG],
      handle: (call) => {
        refuseForeignForm(call);
        // A browser may hold a session for HTTPS and one for HTTP: both end.
        const inCookies = sessionTokensOf('POST', false, call).map(
          (text) => auth.tokens.authenticate(text)?.tokenId,
        );
        for (const id of new Set([call.principal.tokenId, ...inCookies])) {
          const token = id === undefined ? undefined : auth.tokens.get(id);
          // A token that a program holds is revoked on purpose only, not by a logout.
          if (token?.kind === 'SESSION') auth.tokens.revoke(token.id);
        }
        return withCookies({}, endedSessionCookies(call.isEncrypted, call));
      },
    }),
  ];
}

function callerOf({ remoteAddress, signal }: Pick<Call, 'remoteAddress' | 'signal'>): Caller {
  return { address: addressKey(remoteAddress), signal };
}

/** The token in the body is for programs, the cookie for browsers, whose scripts cannot read it. */
function sessionAnswer(
  auth: Auth,
  call: Pick<Call, 'header' | 'identify' | 'isEncrypted'>,
  session: Session,
): Response {
  call.identify(auth.tokens.principalOf(session.record));
  const { sessionLifetimeMs } = LIMITS.auth;
  const cookies = [sessionCookie(session.text, sessionLifetimeMs, call.isEncrypted)];
  return withCookies(wire.sessionToWire(session), cookies);
}

function withCookies(body: unknown, cookies: readonly string[]): Response {
  const headers = new Headers(JSON_HEADERS);
  for (const cookie of cookies) headers.append('Set-Cookie', cookie);
  return new Response(JSON.stringify(body), { headers });
}

function ownRoutes(auth: Auth): Route[] {
  return [
    route({
      operation: 'get_me',
      about: 'Who the caller is.',
      answer: wire.accessShapes.me,
      GET: ['/v3/auth/me'],
      role: 'READONLY',
      handle: ({ principal: { origin, role } }) => ({
        me: { kind: origin.kind, id: origin.id, name: origin.name, role },
      }),
    }),
    route({
      operation: 'change_own_password',
      about: 'Changes the password of the logged-in user. Other sessions end, on request tokens too.',
      answer: shape.nothing(),
      POST: ['/v3/auth/password'],
      role: 'READONLY',
      body: wire.passwordBody,
      errors: [WRONG, THROTTLED],
      handle: async (call) => {
        const maker = makerOf(auth, call.principal);
        if (maker.kind !== 'SESSION' || !maker.user)
          throw gatewayError(
            'permission_denied',
            'access_denied',
            'Only a logged-in user has a password to change.',
          );
        const { current_password: current, password, revoke_tokens: revokeTokens } = call.body;
        const user = auth.users.require(maker.user.id);
        const change = { password, revokeTokens };
        await auth.signIn.changePassword(callerOf(call), user, current, change, maker.id);
      },
    }),
  ];
}

/** The token or session behind a caller. @throws GatewayError invalid_header (401) when there is none */
function makerOf(auth: Auth, principal: Principal): TokenRecord {
  const id = principal.tokenId;
  const token = id === undefined ? undefined : auth.tokens.get(id);
  if (!token)
    throw gatewayError('unauthenticated', 'invalid_header', 'An access token is needed.', {
      header: 'X-Service-Auth-Token',
    });
  return token;
}

function userRoutes(auth: Auth): Route[] {
  const { users } = auth;
  return [
    route({
      operation: 'list_users',
      about: 'All users.',
      answer: wire.accessShapes.users,
      GET: ['/v3/auth/users'],
      role: 'INSTALLER',
      query: query.pageQuery,
      handle: ({ query: page }) => listed('users', users.all(), wire.userToWire, page),
    }),
    route({
      operation: 'create_user',
      about: 'Creates a user.',
      answer: wire.accessShapes.user,
      POST: ['/v3/auth/users'],
      role: 'INSTALLER',
      body: wire.newUserBody,
      errors: ['409 already_exists', '422 user_limit_reached', THROTTLED],
      handle: async (call) => {
        const { body } = call;
        const user = await users.create(body.name, body.role, body.password);
        call.note({ user_id: user.id, role: user.role });
        return { user: wire.userToWire(user) };
      },
    }),
    route({
      operation: 'get_user',
      about: 'One user.',
      answer: wire.accessShapes.user,
      GET: ['/v3/auth/users/{user_id}'],
      role: 'INSTALLER',
      errors: ['404 user_not_found'],
      handle: (call) => ({ user: wire.userToWire(users.require(call.param('user_id'))) }),
    }),
  ];
}

function changingUserRoutes({ users }: Auth): Route[] {
  return [
    route({
      operation: 'update_user',
      about:
        'Changes role and password of a user; null or absent members stay. A new password ends the sessions, on request tokens too.',
      answer: wire.accessShapes.user,
      PATCH: ['/v3/auth/users/{user_id}'],
      role: 'INSTALLER',
      body: wire.updateUserBody,
      errors: ['404 user_not_found', '422 last_installer', THROTTLED],
      handle: async (call) => {
        const { role, password, revoke_tokens: revokeTokens } = call.body;
        const change = { role, password, revokeTokens };
        call.note({
          ...(role !== undefined && { role }),
          ...(password !== undefined && { changed: 'password' }),
          ...(revokeTokens && { revoked: 'tokens' }),
        });
        return {
          user: wire.userToWire(await users.update(call.param('user_id'), change, call.principal.tokenId)),
        };
      },
    }),
    route({
      operation: 'delete_user',
      about: 'Deletes a user and ends the tokens and sessions that act for it.',
      answer: shape.nothing(),
      DELETE: ['/v3/auth/users/{user_id}'],
      role: 'INSTALLER',
      errors: ['404 user_not_found', '422 last_installer'],
      handle: (call) => {
        call.note({ user_name: users.require(call.param('user_id')).name });
        users.remove(call.param('user_id'));
      },
    }),
  ];
}

function tokenRoutes(auth: Auth): Route[] {
  const { tokens } = auth;
  const toWire = (token: TokenRecord) => wire.tokenToWire(token, tokens.isExpired(token));
  return [
    route({
      operation: 'list_tokens',
      about: 'The tokens that the caller may see.',
      answer: wire.accessShapes.tokens,
      GET: ['/v3/auth/tokens'],
      role: 'READONLY',
      query: wire.listTokensQuery,
      handle: ({ principal, query: { kind: wanted, ...page } }) => {
        const found = tokens.visibleTo(principal).filter(({ kind }) => wanted === 'ALL' || kind === wanted);
        return listed('access_tokens', found, toWire, page);
      },
    }),
    route({
      operation: 'create_token',
      about: 'Creates a token whose role does not exceed that of the caller.',
      answer: wire.accessShapes.token,
      POST: ['/v3/auth/tokens'],
      role: 'USER',
      body: wire.createTokenBody,
      errors: ['403 insufficient_role', '422 token_limit_reached'],
      handle: (call) => {
        const { principal, body } = call;
        const { name, role, expires_in: lifetimeMs } = body;
        const made = tokens.createFor(makerOf(auth, principal), { name, role, lifetimeMs });
        call.note({ token_id: made.record.id, role });
        return { token: made.text, access_token: toWire(made.record) };
      },
    }),
    route({
      operation: 'get_token',
      about: 'One token or session that the caller may see; never its text.',
      answer: wire.accessShapes.accessToken,
      GET: ['/v3/auth/tokens/{token_id}'],
      role: 'READONLY',
      errors: ['404 token_not_found'],
      handle: (call) => ({
        access_token: toWire(tokens.requireFor(call.principal, call.param('token_id'))),
      }),
    }),
    route({
      operation: 'revoke_token',
      about: 'Revokes a token or session.',
      answer: shape.nothing(),
      DELETE: ['/v3/auth/tokens/{token_id}'],
      role: 'READONLY',
      errors: ['404 token_not_found'],
      handle: (call) => {
        const { name } = tokens.revokeFor(call.principal, call.param('token_id'));
        call.note({ token_name: name });
      },
    }),
  ];
}
