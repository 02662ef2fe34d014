/**
 * Addresses as they may be shown: their query, and long random parts of their path, may hold a token or a password that
 * some server wants there. Whoever changes an address sends it back as it was shown, and keeps what was hidden.
 */
import { invalidBody } from './errors.ts';

const HIDDEN = '***';
/** Parameters of writing calls of the common engines that are no secret; any other may be one. */
const HARMLESS =
  /^(db|database|bucket|bucketid|org|orgid|precision|rp|consistency|extra_label|timestamp|timeout|u|user|username)$/i;
/** No word: letters of both cases, or letters and digits, in one long piece; letters without end; shorter ones that alternate. */
const isRandom = (part: string): boolean =>
  /[A-Za-z0-9]{20,}/.test(part) ||
  (part.length >= 20 && [/[a-z]/, /[A-Z]/, /\d/].filter((kind) => kind.test(part)).length > 1) ||
  part.split(/[^A-Za-z0-9]+/).some((word) => word.length >= 12 && /\d/.test(word) && !COUNTED.test(word));
/** A word with a number behind it, or a number alone. */
const COUNTED = /^[A-Za-z]*\d{0,4}$|^\d+$/;

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
  const [beforeFragment = '', ...fragment] = url.split('#');
  // It is not sent, and not shown.
  if (fragment.length > 0) hide(fragment.join('#'));
  const [address = '', ...rest] = beforeFragment.split('?');
  const [protocol = '', , host = '', ...path] = address.split('/');
  const shown = [protocol, '', host, ...path.map((part) => shownPart(part, hide))].join('/');
  if (rest.length === 0) return shown;
  // The engines differ on whether a semicolon ends a parameter.
  const shownQuery = rest
    .join('?')
    .split(/([&;])/)
    .map((piece) => (/^[&;]?$/.test(piece) ? piece : shownParameter(piece, hide)));
  return `${shown}?${shownQuery.join('')}`;
}

/** A part of the path, with its parameters (RFC 3986 section 3.3). */
function shownPart(part: string, hide: (part: string) => string): string {
  const shown = part.split(';').map((segment) => {
    const [name = '', ...value] = segment.split('=');
    if (isRandom(name)) return hide(segment);
    return value.join('') === '' ? segment : `${name}=${hide(value.join('='))}`;
  });
  return shown.join(';');
}

function shownParameter(parameter: string, hide: (part: string) => string): string {
  const [name = '', ...value] = parameter.split('=');
  // A parameter without a name may be the secret itself.
  if (value.length === 0) return hide(parameter);
  return HARMLESS.test(name) || value.join('=') === '' ? parameter : `${name}=${hide(value.join('='))}`;
}
