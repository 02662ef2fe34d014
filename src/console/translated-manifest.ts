/**
 * Manifests in the language of the page: those of the box and its module are the gateway's own words, and those of other
 * devices are mostly made of the words of profiles and of the library.
 */
import type { Device, EnumItem, Manifest } from './shapes.ts';
import type { ManifestWords } from './words/en/of-box.ts';
import { language, say } from './words/index.ts';

export const isOfBox = ({ type }: Pick<Device, 'type'>): boolean =>
  type === 'GATEWAY' || type === 'VIRTUAL_UCM';

/** As it is read on the page of the device. */
export const translatedManifest = (manifest: Manifest, device: Pick<Device, 'type'>): Manifest =>
  isOfBox(device) ? withWords(manifest, say.ofBox) : language === 'en' ? manifest : named(manifest);

/** Texts that people read; all else of a manifest is for programs. */
const TEXTS = new Set(['display_name', 'description', 'title']);
/** Their members have names of their own, which are no texts. */
const SECTIONS = [
  'properties',
  'telemetry',
  'alerts',
  'commands',
  'command_groups',
  'configuration',
] as const;

const named = (manifest: Manifest): Manifest => ({
  ...manifest,
  ...Object.fromEntries(
    SECTIONS.flatMap((section) => {
      const members = Object.entries(manifest[section] ?? {});
      return members.length === 0
        ? []
        : [[section, Object.fromEntries(members.map(([key, one]) => [key, translated(one)]))]];
    }),
  ),
});

/** A declaration with its arguments or parameters. */
function translated<Part extends object>(declared: Part): Part {
  const entries = Object.entries(declared).map(([key, value]: [string, unknown]) => {
    if (TEXTS.has(key) && typeof value === 'string') return [key, say.values.ofProfile(value)];
    if (key === 'confirmation' && typeof value === 'object' && value !== null)
      return [key, translated(value)];
    if ((key === 'arguments' || key === 'parameters') && typeof value === 'object' && value !== null)
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, one]) => [name, translated(one as object)])),
      ];
    return [key, value];
  });
  const states = statesOf(declared);
  return { ...Object.fromEntries(entries), ...(states && { enum_with_metainfo: states }) } as Part;
}

function statesOf(declared: { enum?: unknown; enum_with_metainfo?: unknown }): EnumItem[] | undefined {
  const known = declared.enum_with_metainfo as EnumItem[] | undefined;
  const items =
    known ??
    (declared.enum as EnumItem['value'][] | undefined)?.map((value) => ({
      value,
      display_name: String(value),
    }));
  return items?.map((item) => ({ ...item, display_name: say.values.ofState(item.display_name) }));
}

/** Words for what is not in it are left out. */
function withWords<Part>(own: Part, words: ManifestWords | string): Part {
  if (typeof words === 'string' || typeof own !== 'object' || own === null) return words as Part;
  const copy = (Array.isArray(own) ? [...own] : { ...own }) as Record<string, unknown>;
  for (const [key, said] of Object.entries(words)) if (key in copy) copy[key] = withWords(copy[key], said);
  return copy as Part;
}
