/**
 * Takes out of a text what could be a secret. Whoever writes a log leaves secrets out; this is for a text that leaves the
 * box all the same, and takes rather too much.
 */

const REMOVED = '[removed]';

/** Before a value, whatever is between them: `password=`, `"token": "`, `Authorization: Bearer `. */
const NAMED =
  /((?:pass(?:word|phrase|wd)?|secret|token|api_?key|private_?key|psk|pin|claim_?code|authorization|cookie|credentials?)["']?\s*[:=]\s*)((?:bearer|basic)\s+)?("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;&}\])]+)/gi;
const BEARER = /\b((?:bearer|basic)\s+)[A-Za-z0-9+/=_.-]{6,}/gi;
const PEM = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g;
/** `scheme://user:password@host` */
const USER_INFO = /(\w+:\/\/)[^\s/@"']+@/g;
const CLAIM_CODE = /\b[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\b/g;
const OUR_TOKEN = /\bgw_[A-Za-z0-9_-]{8,}/g;
/** Such as keys and tokens of others: long, of one piece, with digits and letters of both cases. */
const RANDOM = /(?<![A-Za-z0-9_+/=-])(?=[^\s"]*[a-z])(?=[^\s"]*[A-Z])(?=[^\s"]*\d)[A-Za-z0-9_+/=-]{24,}/g;

/** The text without what has the form of a secret, and without the known ones in whatever form they stand there. */
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
    .replace(RANDOM, REMOVED);
}
