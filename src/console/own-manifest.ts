/** The manifests of the box and its module are the gateway's own words, so that they are read in the language of the page. */
import type { Device, Manifest } from './shapes.ts';
import type { ManifestWords } from './words/en/of-box.ts';
import { say } from './words/index.ts';

export const isOfBox = ({ type }: Pick<Device, 'type'>): boolean =>
  type === 'GATEWAY' || type === 'VIRTUAL_UCM';

/** As it is read on the page of the device. */
export const asSaid = (manifest: Manifest, device: Pick<Device, 'type'>): Manifest =>
  isOfBox(device) ? withWords(manifest, say.ofBox) : manifest;

/** Words for what is not in it are left out. */
function withWords<Part>(own: Part, words: ManifestWords | string): Part {
  if (typeof words === 'string' || typeof own !== 'object' || own === null) return words as Part;
  const copy = (Array.isArray(own) ? [...own] : { ...own }) as Record<string, unknown>;
  for (const [key, said] of Object.entries(words)) if (key in copy) copy[key] = withWords(copy[key], said);
  return copy as Part;
}
