/** How a person gets a session: by claiming the box or by a login; and changes of the own password. */
import { conflict, gatewayError, type GatewayError } from '../../lib/errors.ts';
import { foldedName, normalizedName } from '../../lib/text.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { Claim } from './claim.ts';
import type { NewToken, User } from './model.ts';
import type { Passwords } from './password.ts';
import type { AuthParts } from './store.ts';
import type { Tokens } from './tokens.ts';
import type { UserChange, Users } from './users.ts';

/** Origin of an attempt; `signal` ends its waiting. */
export type Caller = Omit<Attempt, 'account'>;

/** Account for which guesses at the claim code count. */
const CLAIM_ACCOUNT = 'claim code';

export interface Session extends NewToken {
  readonly user: User;
}

interface SignInOptions extends AuthParts {
  passwords: Passwords;
  attempts: Attempts;
  tokens: Tokens;
  users: Users;
  claim: Claim;
}

export class SignIn {
  readonly #options: SignInOptions;
  readonly #failures: { inc: () => void };

  constructor(options: SignInOptions) {
    this.#options = options;
    this.#failures = options.metrics.counter(
      'auth_failed_logins_total',
      'Logins and claims with a wrong password or code.',
    );
  }

  /**
   * Sets the password of an installer and ends the code. A user of this name becomes installer, else it is
   * made. @throws GatewayError already_claimed (409), access_denied (403), too_many_requests (429)
   */
  async claim(caller: Caller, code: string, name: string, password: string): Promise<Session> {
    const { attempts, claim, log } = this.#options;
    const session = await attempts.run({ ...caller, account: CLAIM_ACCOUNT }, async () => {
      if (claim.isClaimed())
        throw conflict('already_claimed', 'The gateway is claimed already; log in instead.');
      if (!claim.fits(code)) return undefined;
      return this.#own(code, name, await this.#options.passwords.hash(password));
    });
    if (!session) throw this.#refused(caller, 'The claim code is not right.');
    log.info('gateway claimed', { user_id: session.user.id });
    return session;
  }

  /** Undefined when somebody else was faster with the code. */
  #own(code: string, name: string, passwordHash: string): Session | undefined {
    const { claim, database, store, tokens, users } = this.#options;
    return database.transaction(() => {
      if (!claim.fits(code)) return undefined;
      const existing = store.users.byName(name);
      if (existing) {
        store.users.setRole(existing.id, 'INSTALLER');
        store.users.setPassword(existing.id, passwordHash);
      }
      const user = existing ? users.require(existing.id) : users.insert(name, 'INSTALLER', passwordHash);
      claim.settle();
      return { ...tokens.createSession(user), user };
    });
  }

  /** @throws GatewayError access_denied (403), too_many_requests (429) */
  async logIn(caller: Caller, name: string, password: string): Promise<Session> {
    const { log, tokens, users } = this.#options;
    const user = await this.#judged(caller, name, password);
    if (!user) throw this.#refused(caller, 'Name or password is wrong.');
    log.info('login', { user_id: user.id });
    return { ...tokens.createSession(users.require(user.id)), user };
  }

  #userOf(name: string): User | undefined {
    const { users } = this.#options.store;
    return users.byName(normalizedName(name));
  }

  /** Judged in turn with other attempts of the address and at the account. */
  #judged(caller: Caller, name: string, password: string): Promise<User | undefined> {
    const { attempts } = this.#options;
    // A name that nobody has is paced like a user's, so that pauses do not tell who exists.
    const account = this.#userOf(name)?.id ?? `name ${foldedName(name)}`;
    return attempts.run({ ...caller, account }, (isKnown) => this.#verified(name, password, isKnown));
  }

  async #verified(name: string, password: string, isKnown: boolean): Promise<User | undefined> {
    const { passwords, store } = this.#options;
    const user = this.#userOf(name);
    const hash = user && store.users.passwordHash(user.id);
    const isRight = await passwords.verify(password, hash, isKnown);
    // The old password no longer counts if it was changed meanwhile.
    return isRight && user && store.users.passwordHash(user.id) === hash ? user : undefined;
  }

  /**
   * A user's own change of password; other sessions of the user end, and tokens if asked for.
   * @throws GatewayError access_denied (403), user_not_found (404), too_many_requests (429)
   */
  async changePassword(
    caller: Caller,
    user: User,
    current: string,
    change: Pick<UserChange, 'password' | 'revokeTokens'>,
    keptSessionId?: string,
  ): Promise<void> {
    const { users } = this.#options;
    if (!(await this.#judged(caller, user.name, current)))
      throw this.#refused(caller, 'The current password is wrong.');
    await users.update(user.id, change, keptSessionId);
  }

  #refused({ address }: Caller, message: string): GatewayError {
    this.#failures.inc();
    this.#options.log.warnLimited(`login ${address}`, 60_000, 'login refused', { remote_address: address });
    return gatewayError('permission_denied', 'access_denied', message);
  }
}
