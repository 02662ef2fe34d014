/** The blueprint as it stands on the wire (docs/interface/http.md#blueprints-and-profiles). */
import * as v from 'valibot';
import { formatTimestamp } from '../../lib/time.ts';
import { type MediaAnswer, shape } from '../../platform/http/index.ts';
import { type Blueprint, BUILT_IN_BLUEPRINTS } from './model.ts';
import type { ListedProfile, UploadedFile } from './profiles/library.ts';
import type { ListedBlueprint } from './store.ts';

const entries = { id: shape.id(), created_at: shape.instant() };
const EXAMPLE = { id: '7d0f2d1e-3c57-4a0b-8a6b-1f0d6f2f5c10', created_at: '2026-03-01T08:00:00.123Z' };
/** A blueprint on the wire. */
export const blueprintShape = shape.named('Blueprint', v.object(entries), EXAMPLE);

const listedShape = shape.named(
  'ListedBlueprint',
  v.object({
    ...entries,
    source: v.picklist(['BUILT_IN', 'UPLOADED']),
    name: v.optional(shape.about(v.string(), 'Of a built-in one: the name to get it by.')),
    display_name: v.string(),
    has_script: v.boolean(),
    origin: shape.about(
      v.picklist(['BUILT_IN', 'LIBRARY', 'UPLOADED']),
      'LIBRARY: made of a template of the device library.',
    ),
    version: shape.about(shape.count(), 'Which of those with its name and origin it is, by age, from 1 on.'),
    device_count: shape.about(shape.count(), 'Devices that have it.'),
  }),
  {
    ...EXAMPLE,
    source: 'UPLOADED',
    display_name: 'Battery',
    has_script: false,
    origin: 'UPLOADED',
    version: 2,
    device_count: 1,
  },
);

const profileSource = shape.about(
  v.picklist(['BUILT_IN', 'UPLOADED', 'CHANGED']),
  'CHANGED: comes with the gateway and was replaced by an upload.',
);

const profileShape = shape.named(
  'DeviceProfile',
  v.object({
    id: v.string(),
    path: shape.about(v.string(), 'Of its file in the tree of profiles.'),
    source: profileSource,
    draft: v.boolean(),
    implements: v.array(v.string()),
    uploaded_at: v.optional(shape.instant()),
  }),
  {
    id: 'energy.battery',
    path: 'energy/battery.yml',
    source: 'BUILT_IN',
    draft: false,
    implements: ['lib.energy.battery.soc'],
  },
);

const uploadedFileShape = v.object({
  path: shape.about(v.string(), 'In the tree of profiles; of an ignored file, in the archive.'),
  profile_id: v.optional(v.string()),
  result: shape.about(
    v.picklist(['ADDED', 'CHANGED', 'RESTORED', 'UNCHANGED', 'IGNORED']),
    'RESTORED: the built-in profile is back. IGNORED: no profile file, and not stored.',
  ),
});

export const ZIP = 'application/zip';

const zip = (about: string): MediaAnswer => ({
  mediaType: ZIP,
  about,
  headers: { 'Content-Disposition': 'The name of the file.' },
});

export type ListedBlueprintOnWire = v.InferOutput<typeof listedShape>;

export const blueprintShapes = {
  one: v.object({ blueprint: blueprintShape }),
  list: shape.listOf('blueprints', listedShape),
  uploaded: v.pipe(
    v.object({
      blueprint: blueprintShape,
      ...entries,
      warnings: v.optional(
        shape.about(v.array(v.string()), 'What may be wrong all the same; absent without any.'),
      ),
    }),
    v.examples([{ blueprint: EXAMPLE, ...EXAMPLE }]),
  ),
  validation: v.object({
    validation_errors: v.optional(shape.about(v.array(v.string()), 'Absent when the blueprint is good.')),
  }),
  blueprintZip: zip('The archive of the blueprint.'),
  profile: v.object({ profile: profileShape }),
  profiles: shape.listOf('profiles', profileShape),
  profilesUploaded: v.pipe(
    v.object({
      files: v.optional(
        shape.about(v.array(uploadedFileShape), 'What each file became; with `expand=files`.'),
      ),
    }),
    v.examples([
      {},
      {
        files: [
          { path: 'energy/battery.yml', profile_id: 'energy.battery', result: 'CHANGED' },
          { path: 'README.md', result: 'IGNORED' },
        ],
      },
    ]),
  ),
  profilesZip: zip('All device profiles, each at the path that its name is.'),
};

/** Client generators take the first; one trips over a binary body of any type beside it. */
export const UPLOAD_MEDIA = ['multipart/form-data', ZIP] as const;

/** The same for a record. */
export function toWire(blueprint: Blueprint) {
  return { id: blueprint.id, created_at: formatTimestamp(blueprint.createdAtMs) };
}

function originOf({ source, isOfLibrary }: ListedBlueprint): ListedBlueprintOnWire['origin'] {
  if (source === 'built_in') return 'BUILT_IN';
  return isOfLibrary ? 'LIBRARY' : 'UPLOADED';
}

export function listedToWire(blueprint: ListedBlueprint) {
  const builtIn = BUILT_IN_BLUEPRINTS.find(({ id }) => id === blueprint.id);
  return {
    ...toWire(blueprint),
    source: blueprint.source === 'built_in' ? ('BUILT_IN' as const) : ('UPLOADED' as const),
    ...(builtIn && { name: builtIn.name }),
    display_name: blueprint.displayName,
    has_script: blueprint.hasScript,
    origin: originOf(blueprint),
    version: blueprint.version,
    device_count: blueprint.deviceCount,
  };
}

export const profileToWire = (profile: ListedProfile) => shape.filled(profileShape, profile);

export const uploadedFileToWire = (file: UploadedFile) => shape.filled(uploadedFileShape, file);
