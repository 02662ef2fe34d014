import { randomBytes, randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { CLOCK_PLAUSIBLE_FROM_MS, createStampCorrector } from '../../platform/clock/index.ts';
import { Attempts } from './attempts.ts';
import { Claim } from './claim.ts';
import type { AuthEvents } from './model.ts';
import { type AuthParts, type AuthStore, createAuthStore } from './store.ts';
import { Passwords } from './password.ts';
import { SignIn } from './sign-in.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

type Defaulted = 'limits' | 'newId' | 'random';
type AuthOptions = Omit<AuthParts, 'store' | 'events' | Defaulted> & Partial<Pick<AuthParts, Defaulted>>;

/** Authentication and roles: users, sessions, access tokens, and the claim of the box. */
export class Auth {
  readonly events: Emitter<AuthEvents>;
  readonly tokens: Tokens;
  readonly users: Users;
  readonly signIn: SignIn;
  /** Before it is claimed, nobody gets in without a token of the local command. */
  readonly claim: Claim;
  readonly #options: AuthOptions;
  readonly #limits: Limits['auth'];
  readonly #store: AuthStore;
  readonly #stops: (() => void)[] = [];

  constructor(options: AuthOptions) {
    const { newId = randomUUID, random = randomBytes, limits = LIMITS.auth } = options;
    this.#options = options;
    this.#limits = limits;
    this.#store = createAuthStore(options.database);
    this.events = new Emitter<AuthEvents>(options.log);
    const shared: AuthParts = { ...options, store: this.#store, limits, newId, random, events: this.events };
    const passwords = new Passwords(shared);
    const attempts = new Attempts(shared);
    const claim = (this.claim = new Claim(shared));
    const tokens = (this.tokens = new Tokens(shared));
    const users = (this.users = new Users({ ...shared, passwords, tokens, claim }));
    this.signIn = new SignIn({ ...shared, passwords, attempts, tokens, users, claim });
  }

  /**
   * Makes a claim code if the box is unclaimed, and starts the regular work: announces tokens that ended, stores
   * last uses, corrects stamps when the clock is set.
   */
  start(): void {
    const { clock } = this.#options;
    const { lastUseWriteIntervalMs, sweepIntervalMs } = this.#limits;
    const { tokens } = this;
    this.#keepClaimable();
    const stamps = createStampCorrector(clock, () => restamp());
    const restamp = (): void => {
      const correction = stamps.correction();
      if (correction) this.#attempt('restamp', () => tokens.times.restamp(correction));
    };
    restamp();
    this.#attempt('clock', () => tokens.times.resume());
    tokens.sweep(true);
    const following = clock.onStepped((stepMs) => {
      const wasSet = clock.wallMs() - stepMs >= CLOCK_PLAUSIBLE_FROM_MS;
      if (!clock.isSet()) return;
      this.#attempt('clock', () => (wasSet ? tokens.times.follow(stepMs) : tokens.times.resume()));
    });
    const sweeping = clock.setRepeating(sweepIntervalMs, () => this.#attempt('sweep', () => tokens.sweep()));
    const writing = clock.setRepeating(lastUseWriteIntervalMs, () => this.#writeUses());
    this.#stops.push(
      () => stamps.stop(),
      following,
      () => sweeping.cancel(),
      () => writing.cancel(),
    );
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#writeUses();
  }

  /** Retries, so that the gateway need not be restarted once the file can be written. */
  #keepClaimable(): void {
    if (this.claim.ensure()) return;
    const { clock } = this.#options;
    const trying = clock.setRepeating(this.#limits.claimRetryMs, () => {
      if (this.claim.ensure()) trying.cancel();
    });
    this.#stops.push(() => trying.cancel());
  }

  #writeUses(): void {
    this.#attempt('last uses', () => this.tokens.writeUses());
    this.#attempt('clock', () => this.tokens.times.settle());
  }

  #attempt(what: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      // A disk that takes no data must not end the gateway; the next round tries again.
      const message = 'regular work on access tokens failed';
      this.#options.log.warnLimited(what, this.#limits.lastUseIntervalMs, message, { what, error });
    }
  }

  /**
   * Makes the box claimable again: installers lose password and sessions; tokens only if asked for. Returns
   * the new claim code, which stands in its file too.
   */
  resetAccess({ revokeTokens }: { revokeTokens: boolean }): string {
    const code = this.#options.database.transaction(() => {
      this.#store.users.voidPasswords('INSTALLER');
      for (const user of this.#store.users.all())
        if (user.role === 'INSTALLER') this.tokens.endOf(user.id, ['SESSION']);
      if (revokeTokens) this.tokens.revokeAll(['TOKEN', 'SESSION']);
      return this.claim.renew();
    });
    this.#options.log.info('access was reset', { tokens_revoked: revokeTokens });
    return code;
  }
}
