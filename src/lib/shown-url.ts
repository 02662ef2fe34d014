/**
 * Addresses as they may be shown: their query, and long random parts of their path, may hold a token or a password that
 * some server wants there. Whoever changes an address sends it back as it was shown, and keeps what was hidden.
 */
import { invalidBody } from './errors.ts';

const HIDDEN = '***';
/** Parameters of writing calls of the common engines that are no secret; any other may be one. */
const HARMLESS =
  /^(db|database|bucket|bucketid|org|orgid|precision|rp|consistency|extra_label|timestamp|timeout|u|user|username)$/i;
/** Letters of both cases, or letters and digits, in one long piece are no word. */
const isRandom = (part: string): boolean =>
  /^[A-Za-z0-9_.~%-]{20,}$/.test(part) &&
  [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(part)).length > 1;

/** The address with every value hidden that may be a secret. */
export function shownUrl(url: string): string {
  return hideIn(url, () => HIDDEN);
}

/** The parts that `shownUrl` hides, for redaction of texts. */
export function hiddenParts(url: string): string[] {
  const parts: string[] = [];
  hideIn(url, (part) => {
    parts.push(part);
    return HIDDEN;
  });
  return parts;
}

/**
 * The address that a change means: the one before, if it is given back as it was shown.
 * @param field of the body @throws GatewayError invalid_body (400) for another one with something hidden in it
 */
export function changedUrl(before: string | undefined, given: string, field: string): string {
  if (before !== undefined && given === shownUrl(before)) return before;
  if (given.split(/[/=?&;]/).includes(HIDDEN))
    throw invalidBody(field, `The address has ${HIDDEN} in place of a secret: enter it whole.`);
  return given;
}

function hideIn(url: string, hide: (part: string) => string): string {
  const [address = '', ...rest] = url.split('#')[0]?.split('?') ?? [];
  const [protocol = '', , host = '', ...path] = address.split('/');
  const shownPath = path.map((part) =>
    isRandom(part) ? hide(part) : part.replace(/(?<==)[^;]+/g, (value) => hide(value)),
  );
  const shown = [protocol, '', host, ...shownPath].join('/');
  if (rest.length === 0) return shown;
  const parameters = rest.join('?').split('&');
  const shownQuery = parameters.map((parameter) => {
    const [name = '', ...value] = parameter.split('=');
    // A parameter without a name may be the secret itself.
    if (value.length === 0) return parameter === '' ? '' : hide(parameter);
    return HARMLESS.test(name) || value.join('=') === '' ? parameter : `${name}=${hide(value.join('='))}`;
  });
  return `${shown}?${shownQuery.join('&')}`;
}
