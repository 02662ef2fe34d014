/** People with a password. An installer manages them; the last installer stays. */
import { alreadyExists, requireFound, requireUnderLimit, unprocessable } from '../../lib/errors.ts';
import { foldedName } from '../../lib/text.ts';
import type { Claim } from './claim.ts';
import type { IssuableRole, User } from './model.ts';
import type { Passwords } from './password.ts';
import type { AuthParts } from './store.ts';
import type { Tokens } from './tokens.ts';

export interface UserChange {
  role?: IssuableRole | undefined;
  password?: string | undefined;
  /** Ends every token that acts for the user. */
  revokeTokens?: boolean;
}

interface UsersOptions extends AuthParts {
  passwords: Passwords;
  tokens: Tokens;
  claim: Claim;
}

export class Users {
  readonly #options: UsersOptions;

  constructor(options: UsersOptions) {
    this.#options = options;
  }

  /** By id ascending. */
  all(): User[] {
    return this.#options.store.users.all();
  }

  get(id: string): User | undefined {
    return this.#options.store.users.byId(id);
  }

  /** @throws GatewayError user_not_found (404) */
  require(id: string): User {
    return requireFound('user_not_found', 'There is no such user.', this.get(id));
  }

  /** @throws GatewayError already_exists (409), user_limit_reached (422), too_many_requests (429) */
  async create(name: string, role: IssuableRole, password: string): Promise<User> {
    const { database, log, passwords } = this.#options;
    this.#requireFree(name);
    const hash = await passwords.hash(password);
    const user = database.transaction(() => this.insert(name, role, hash));
    log.info('user made', { user_id: user.id, role });
    return user;
  }

  /** Within a transaction of the caller. @throws as `create` */
  insert(name: string, role: IssuableRole, passwordHash: string): User {
    const { claim, clock, newId, store } = this.#options;
    this.#requireFree(name);
    const user: User = { id: newId(), name, role, hasPassword: true, createdAtMs: clock.wallMs() };
    store.users.insert(user, passwordHash);
    claim.settle();
    return user;
  }

  #requireFree(name: string): void {
    const { users: limit } = this.#options.limits;
    const folded = foldedName(name);
    if (this.all().some((user) => foldedName(user.name) === folded))
      throw alreadyExists(`There is a user "${name}" already.`, 'name', name);
    requireUnderLimit('user_limit_reached', `There are ${limit} users.`, this.all().length, limit);
  }

  /**
   * Role and password. A new password ends the user's sessions, except `keptSessionId`, tokens end if asked for; a
   * lower role binds open sessions and tokens at once. @throws GatewayError user_not_found (404), last_installer (422)
   */
  async update(id: string, change: UserChange, keptSessionId?: string): Promise<User> {
    const { claim, database, log, passwords, store, tokens } = this.#options;
    this.require(id);
    const hash = change.password === undefined ? undefined : await passwords.hash(change.password);
    const changed = database.transaction(() => {
      const user = this.require(id);
      if (change.role !== undefined && change.role !== 'INSTALLER') this.#requireAnotherInstaller(user);
      if (change.role !== undefined) store.users.setRole(id, change.role);
      if (hash !== undefined) {
        store.users.setPassword(id, hash);
        tokens.endOf(id, ['SESSION'], keptSessionId);
      }
      if (change.revokeTokens) tokens.endOf(id, ['TOKEN'], keptSessionId);
      claim.settle();
      database.afterCommit(() => tokens.sweep(true));
      return this.require(id);
    });
    log.info('user changed', { user_id: id, role: changed.role, password_changed: hash !== undefined });
    return changed;
  }

  /** Sessions and tokens of the user end too. @throws GatewayError user_not_found (404), last_installer (422) */
  remove(id: string): void {
    const { database, log, store, tokens } = this.#options;
    database.transaction(() => {
      this.#requireAnotherInstaller(this.require(id));
      store.users.remove(id);
      database.afterCommit(() => tokens.sweep(true));
    });
    log.info('user removed', { user_id: id });
  }

  /** A claimed box stays claimed. */
  #requireAnotherInstaller({ role, hasPassword }: User): void {
    if (role !== 'INSTALLER' || !hasPassword) return;
    if (this.#options.store.users.countUsable('INSTALLER') > 1) return;
    throw unprocessable('last_installer', 'This is the last installer; the gateway would belong to nobody.');
  }
}
