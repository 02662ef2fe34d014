/**
 * Removes everything that could be a secret from a text that leaves the box. Logs have no secrets anyway, so this is a second
 * guard, which rather removes too much.
 */

const REMOVED = '[removed]';

/** A name before a value, with whatever is between them: `password=`, `"token": "`, `Authorization: Bearer `. */
const NAMED =
  /((?:pass(?:word|phrase|wd)?|secret|token|api_?key|private_?key|psk|pin|claim_?code|authorization|cookie|credentials?)["']?\s*[:=]\s*)((?:bearer|basic)\s+)?("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&}\])]+)/gi;
const BEARER = /\b((?:bearer|basic)\s+)[A-Za-z0-9+/=_.-]{6,}/gi;
const PEM = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g;
/** `scheme://user:password@host` */
const USER_INFO = /(?<!\w)(\w+:\/\/)[^\s/@"']+@/g;
const CLAIM_CODE = /\b[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\b/g;
const OUR_TOKEN = /\bgw_[A-Za-z0-9_-]{8,}/g;
/** Keys and tokens of other systems: long, in one piece, with digits and letters of both cases. */
const LONG_WORD = /(?<![A-Za-z0-9_+/=-])[A-Za-z0-9_+/=-]{24,}/g;
const KINDS_OF_RANDOM = [/[a-z]/, /[A-Z]/, /\d/];

/** The text without anything that looks like a secret, and without the known secrets in any of their forms. */
export function withoutSecrets(text: string, known: readonly string[] = []): string {
  let clean = text;
  for (const secret of known.filter(({ length }) => length > 0).toSorted((a, b) => b.length - a.length))
    for (const form of new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]))
      clean = clean.replaceAll(form, REMOVED);
  return clean
    .replace(PEM, REMOVED)
    .replace(USER_INFO, `$1${REMOVED}@`)
    .replace(NAMED, (_, name: string, scheme: string | undefined) => `${name}${scheme ?? ''}"${REMOVED}"`)
    .replace(BEARER, `$1${REMOVED}`)
    .replace(OUR_TOKEN, REMOVED)
    .replace(CLAIM_CODE, REMOVED)
    .replace(LONG_WORD, (word) => (KINDS_OF_RANDOM.every((kind) => kind.test(word)) ? REMOVED : word));
}
