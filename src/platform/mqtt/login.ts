/**
 * Login: calls the hook and slows down failures. Failed logins are counted per address; beyond the limit their answer
 * waits, but no address is banned and a correct login never waits, because the SDK retries for ever and devices of one
 * site may share an address.
 */
import { addressKey } from '../../lib/address.ts';
import { Rates } from '../../lib/token-bucket.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { MqttCertificate, MqttHooks, MqttIdentity, MqttLimits } from './types.ts';

type LoginRequest = Parameters<MqttHooks['authenticate']>[0] & {
  /** Client certificate of a connection over TLS; it counts instead of user name and password. */
  certificate?: MqttCertificate;
};
export type LoginFailure = 'bad_credentials' | 'not_authorized' | 'unavailable';

export type Login = ReturnType<typeof createLogin>;

const WARNING_INTERVAL_MS = 60_000;

export function createLogin(options: {
  clock: Clock;
  log: Log;
  limits: MqttLimits;
  hooks: Pick<MqttHooks, 'authenticate' | 'authenticateCertificate' | 'onRefused' | 'nameOf'>;
}) {
  const { clock, log, limits, hooks } = options;
  const { failedLoginsPerMinute: burst } = limits;
  const failures = new Rates({ perSecond: burst / 60, burst });
  let version = 0;

  async function slowDown(request: LoginRequest, failure: LoginFailure): Promise<void> {
    const { certificate, username, remoteAddress } = request;
    const claimed = certificate?.commonName ?? username;
    let name: string | undefined;
    try {
      // Only the name of an account is shown: anything else may be a password in the wrong place.
      name = claimed === undefined ? undefined : hooks.nameOf?.(claimed);
      hooks.onRefused?.({ what: 'login', reason: failure, claimed, remoteAddress });
    } catch (error) {
      log.error('hook of the MQTT broker failed', { hook: 'onRefused', error });
    }
    const isTooOften = failures.take(addressKey(remoteAddress), clock.monotonicMs()) > 0;
    log.warnLimited(`mqtt_login:${request.remoteAddress}`, WARNING_INTERVAL_MS, 'login was refused', {
      reason: failure,
      claims_to_be: name,
      remote_address: request.remoteAddress,
    });
    if (isTooOften) await clock.sleep(limits.failedLoginDelayMs);
  }

  async function judge({ certificate, ...login }: LoginRequest): ReturnType<MqttHooks['authenticate']> {
    if (!certificate) return hooks.authenticate(login);
    const { clientId, remoteAddress } = login;
    return (
      (await hooks.authenticateCertificate?.({ ...certificate, clientId, remoteAddress })) ?? 'not_authorized'
    );
  }

  async function ask(request: LoginRequest): Promise<MqttIdentity | LoginFailure> {
    for (;;) {
      const before = version;
      const answer = await judge(request);
      if (typeof answer === 'string' || version === before) return answer;
    }
  }

  return {
    /** Never rejects; a hook that throws is `unavailable`. */
    async verify(request: LoginRequest): Promise<MqttIdentity | LoginFailure> {
      let answer: MqttIdentity | LoginFailure;
      try {
        answer = await ask(request);
      } catch (error) {
        log.error('login could not be checked', { error });
        return 'unavailable';
      }
      if (typeof answer === 'string') await slowDown(request, answer);
      return answer;
    },
    /** Credentials became void: a login under way, checked perhaps before that, is checked again. */
    recheck: () => {
      version++;
    },
  };
}

/** The login of one connection over TLS. */
export function withCertificate(login: Login, certificate: MqttCertificate): Login {
  return { ...login, verify: (request) => login.verify({ ...request, certificate }) };
}
