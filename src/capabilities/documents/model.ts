/** Kinds of files that a document may be. Pure. */
import { isUtf8 } from 'node:buffer';

export const MEDIA_TYPES = [
  'image/jpeg',
  'image/png',
  'image/webp',
  'application/pdf',
  'text/plain',
] as const;
type MediaType = (typeof MEDIA_TYPES)[number];

/** Endings of file names; the first is given to a name without one of them. */
const ENDINGS: Readonly<Record<MediaType, readonly [string, ...string[]]>> = {
  'image/jpeg': ['.jpg', '.jpeg'],
  'image/png': ['.png'],
  'image/webp': ['.webp'],
  'application/pdf': ['.pdf'],
  'text/plain': ['.txt'],
};

/** First bytes by the standards of the formats. */
const BEGINNINGS: readonly [MediaType, Buffer][] = [
  ['image/jpeg', Buffer.from('ffd8ff', 'hex')],
  ['image/png', Buffer.from('89504e470d0a1a0a', 'hex')],
  ['application/pdf', Buffer.from('%PDF-')],
];

/** Between both words stands the size of the file. */
const isWebp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;
const DELETE = 0x7f;

const isOfText = (byte: number): boolean =>
  byte >= BLANK ? byte !== DELETE : byte === TAB || byte === LINE_FEED || byte === CARRIAGE_RETURN;

/** What the bytes are, whatever their name says; undefined: nothing that may be stored. */
export function mediaTypeOf(bytes: Buffer): MediaType | undefined {
  const known = BEGINNINGS.find(([, beginning]) => bytes.subarray(0, beginning.length).equals(beginning));
  if (known) return known[0];
  if (isWebp(bytes)) return 'image/webp';
  return bytes.length > 0 && isUtf8(bytes) && bytes.every(isOfText) ? 'text/plain' : undefined;
}

/** The name of the document as that of a file: its ending says what it holds. */
export function fileNameOf(name: string, mediaType: MediaType): string {
  const endings = ENDINGS[mediaType];
  return endings.some((ending) => name.toLowerCase().endsWith(ending)) ? name : `${name}${endings[0]}`;
}
