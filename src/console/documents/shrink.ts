/** Photos of a phone have 4 to 12 MB; what is read on a type plate needs a tenth of that. */
import { say } from '../words/later.ts';

const PHOTO_MAX_BYTES = 500_000;
/** Longest side in pixels and quality, the best first. */
const STEPS: readonly [sidePx: number, quality: number][] = [
  [2_000, 0.85],
  [2_000, 0.7],
  [1_600, 0.7],
  [1_200, 0.6],
  [800, 0.5],
];
const IS_STORED_AS_IT_IS = /^image\/(?:jpeg|png|webp)$/;

/** The photo as a JPEG of at most 500 kB, or the file itself when it is small. @throws Error with a sentence */
export async function shrunk(file: Blob): Promise<Blob> {
  if (file.size <= PHOTO_MAX_BYTES && IS_STORED_AS_IT_IS.test(file.type)) return file;
  const picture = await createImageBitmap(file).catch((cause: unknown) => {
    throw new Error(say.documents.notReadable, { cause });
  });
  try {
    for (const [sidePx, quality] of STEPS) {
      const found = await drawn(picture, sidePx, quality);
      if (found.size <= PHOTO_MAX_BYTES) return found;
    }
    throw new Error(say.documents.notReadable);
  } finally {
    picture.close();
  }
}

async function drawn(picture: ImageBitmap, sidePx: number, quality: number): Promise<Blob> {
  const scale = Math.min(1, sidePx / Math.max(picture.width, picture.height));
  const canvas = document.createElement('canvas');
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext('2d');
  if (!context) throw new Error(say.documents.notReadable);
  // A JPEG has no transparency.
  context.fillStyle = 'white';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/jpeg', quality));
  if (!blob) throw new Error(say.documents.notReadable);
  return blob;
}
