/** The session of the console: claimed or not, logged in or not, with which role. */
import { computed, signal } from '@preact/signals';
import { ApiError, call, callFor, isOfProxy, NoAnswer, whenRefused } from './api.ts';
import type { Claim, Me } from './shapes.ts';
import { reaches } from '../lib/role.ts';
import { route, WALL } from './route.ts';
import type { say } from './words/index.ts';

type SessionState = 'unknown' | 'unreachable' | 'failed' | 'unclaimed' | 'logged-out' | 'logged-in';

export const state = signal<SessionState>('unknown');
/** The user who is logged in, or was until the login expired. */
export const me = signal<Me | undefined>(undefined);

const role = computed(() => me.value?.role);

/** Whether the user has this role, an access level of a manifest, or more. */
export function may(needed: string | undefined): boolean {
  return reaches(role.value, needed);
}

/** The answer of a proxy in place of the gateway, in words, while that is unreachable. */
export const answeredByProxy = signal<string | undefined>(undefined);

/** Fault of the page before it could send a request. */
export const pageFault = signal<string | undefined>(undefined);

/** Why somebody who did not log out is asked for a login. */
export const loginReason = signal<keyof typeof say.frame.loginReasons | undefined>(undefined);

whenRefused((status) => {
  if (state.value !== 'logged-in') return;
  if (status === 403) return void (isConfirming || confirm());
  loginReason.value ??= 'ended';
  leave();
  // Perhaps access was reset, and the claim code is needed now.
  void look();
});

/** Kept in the browser: a user who was logged in here probably still is, so the claim is not read first. */
const LOGGED_IN = 'logged-in';
const NAME = 'login-name';

/** Whether somebody was logged in here when the browser last knew. */
export const wasLoggedIn = (): boolean => localStorage.getItem(LOGGED_IN) !== null;

/** Name of the last user of this browser. */
export const lastName = (): string => localStorage.getItem(NAME) ?? 'installer';

function leave(): void {
  localStorage.removeItem(LOGGED_IN);
  state.value = 'logged-out';
}

/** A refusal of the check itself is no reason to check again. */
let isConfirming = false;

/** Checks whether the login still holds, for whom and with which role; without an answer nothing changes. */
export async function confirm(): Promise<void> {
  isConfirming = true;
  try {
    const found = await callFor<Me>('me', 'GET', '/v3/auth/me');
    if (state.value === 'logged-in' && JSON.stringify(found) !== JSON.stringify(me.value)) me.value = found;
  } catch (error) {
    // A refusal has been handled by then; a missing answer is shown as a lost connection.
    if (!(error instanceof ApiError || error instanceof NoAnswer)) throw error;
  } finally {
    isConfirming = false;
  }
}

/** Finds out the state of the session; call it at the start and after a claim or login. */
export async function look(): Promise<void> {
  const wasIn = wasLoggedIn();
  try {
    if (!wasIn) {
      const { claimed, logged_in: isLoggedIn = false } = await readClaim();
      // The user is read only where there is an answer: browsers list a refusal as an error of the page.
      if (!claimed || !(isLoggedIn || (await enterByLink()))) {
        state.value = claimed ? 'logged-out' : 'unclaimed';
        return;
      }
    }
    me.value = await callFor<Me>('me', 'GET', '/v3/auth/me');
    state.value = 'logged-in';
    loginReason.value = undefined;
    localStorage.setItem(LOGGED_IN, 'yes');
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof NoAnswer)) {
      pageFault.value = String(error);
      state.value = 'failed';
      throw error;
    }
    answeredByProxy.value = isOfProxy(error) ? error.message : undefined;
    if (answeredByProxy.value !== undefined || error instanceof NoAnswer || error.status !== 401) {
      state.value = 'unreachable';
      return;
    }
    leave();
    if (!wasIn) return;
    loginReason.value ??= 'ended';
    await look();
  }
}

/** As long as browsers keep a cookie at all. */
const LINK_LIFETIME_S = 400 * 86_400;

/**
 * Logs in by the token in the address of a wall display; resolves with whether that lets it in. Where somebody is logged in
 * the token does not count, so that a link of a stranger changes nobody's login.
 */
async function enterByLink(): Promise<boolean> {
  const [page, token] = route.value;
  if (page !== WALL || token === undefined || !/^[\w.~-]+$/.test(token)) return false;
  // Takes away the cookie of a login that has ended, which a script cannot replace.
  await call('POST', '/v3/auth/logout', undefined, 'reads');
  const isEncrypted = location.protocol === 'https:';
  const name = isEncrypted ? '__Host-gateway_session' : 'gateway_session_http';
  document.cookie = `${name}=${token}; Path=/; SameSite=Strict; Max-Age=${LINK_LIFETIME_S}${isEncrypted ? '; Secure' : ''}`;
  return (await readClaim()).logged_in === true;
}

const readClaim = (): Promise<Claim> => callFor('claim', 'GET', '/v3/auth/claim');

/** While the first page of a new box is shown: somebody else may have claimed it. Without an answer nothing changes. */
export async function lookForClaim(): Promise<void> {
  try {
    if (!(await readClaim()).claimed || state.value !== 'unclaimed') return;
    loginReason.value = 'claimed';
    state.value = 'logged-out';
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof NoAnswer)) throw error;
  }
}

// A login in another tab is a login here, too.
addEventListener('storage', ({ key, newValue }) => {
  if (key === LOGGED_IN && newValue !== null && state.value !== 'logged-in') void look();
});

export async function claim(claimCode: string, name: string, password: string): Promise<void> {
  await call('POST', '/v3/auth/claim', { claim_code: claimCode, name, password });
  localStorage.setItem(NAME, name);
  await look();
}

export async function logIn(name: string, password: string): Promise<void> {
  await call('POST', '/v3/auth/login', { name, password }, 'reads');
  localStorage.setItem(NAME, name);
  await look();
}

export async function logOut(): Promise<void> {
  await call('POST', '/v3/auth/logout', undefined, 'reads');
  leave();
  me.value = undefined;
}
