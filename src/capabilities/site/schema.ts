/** Requests and answers of site operations as they stand on the wire (docs/interface/http.md#sites). */
import * as v from 'valibot';
import { nameContains } from '../../lib/text.ts';
import { canonicalTimeZone } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import type { Role } from '../../lib/role.ts';
import { RESETTABLE, type SiteChange, type SiteRecord } from './model.ts';

const name = shape.name();

const timezone = v.pipe(
  v.string(),
  shape.wire({ type: 'string', description: 'IANA name, in any case.', examples: ['Europe/Berlin'] }),
  shape.parsed(canonicalTimeZone, 'an IANA time zone such as Europe/Berlin'),
);

/** A number, or its decimal text as an earlier revision of the interface has it. */
const degrees = (maximum: number) =>
  v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.trim(), v.decimal(), v.transform(Number))], 'must be a number'),
    shape.wire({
      anyOf: [
        { type: 'number', minimum: -maximum, maximum },
        { type: 'string', pattern: '^-?[0-9]{1,3}(\\.[0-9]+)?$', examples: ['52.5'] },
      ],
      examples: [13.4],
    }),
    v.check((value) => Math.abs(value) <= maximum, `must be from -${maximum} to ${maximum}`),
  );

const location = shape.noList(
  v.object({
    name: shape.unlessNull(shape.name({ mayBeEmpty: true })),
    latitude: shape.unlessNull(degrees(90)),
    longitude: shape.unlessNull(degrees(180)),
  }),
);

const EXAMPLE = {
  name: 'Depot',
  timezone: 'Europe/Berlin',
  location: { name: 'Hall 2', latitude: 52.5, longitude: 13.4 },
};

/** A site as a caller names it. */
export const newSiteBody = v.pipe(
  v.object({ name, timezone, location: v.nullish(location) }),
  shape.example(EXAMPLE),
);

export const updateBody = v.pipe(
  v.object({
    name: shape.unlessNull(name),
    timezone: shape.unlessNull(timezone),
    location: v.nullish(location),
    _reset: v.nullish(
      v.array(v.picklist(RESETTABLE, `must be of: ${RESETTABLE.join(', ')}`), 'must be a list'),
    ),
  }),
  shape.example(EXAMPLE),
  v.transform((body): SiteChange => ({
    name: body.name,
    timezone: body.timezone,
    location: body.location ?? {},
    reset: body._reset ?? [],
  })),
);

const ARCHIVED_STATES = ['ACTIVE', 'ARCHIVED', 'ALL'] as const;

export const listQuery = v.object({
  ...query.page(),
  'name.contains': query.text('Part of the name, in any case.'),
  archived_state: query.choice(ARCHIVED_STATES, 'ACTIVE', 'Sites in use, archived ones, or both.'),
});

export const existenceQuery = v.object({
  skip_check_existence: query.flag(false, 'Answers as if all was well when the id is of no site here.'),
});

export function isListed(site: SiteRecord, filter: v.InferOutput<typeof listQuery>): boolean {
  const { archived_state: state, 'name.contains': part } = filter;
  if (state !== 'ALL' && site.archived !== (state === 'ARCHIVED')) return false;
  return part === undefined || nameContains(site.name, part);
}

const siteShape = shape.named(
  'Site',
  v.object({
    id: shape.id(),
    name: v.string(),
    timezone: shape.about(v.string(), 'IANA name.'),
    version: v.literal('V3'),
    authorized_role: shape.about(shape.role(), 'The role of the caller.'),
    archived: v.boolean(),
    location: v.optional(
      v.object({
        name: v.string(),
        latitude: v.optional(v.pipe(v.number(), v.minValue(-90), v.maxValue(90))),
        longitude: v.optional(v.pipe(v.number(), v.minValue(-180), v.maxValue(180))),
      }),
    ),
  }),
  {
    id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
    name: 'Depot',
    timezone: 'Europe/Berlin',
    version: 'V3',
    authorized_role: 'INSTALLER',
    archived: false,
    location: { name: 'Hall 2', latitude: 52.5, longitude: 13.4 },
  },
);

export type SiteOnWire = v.InferOutput<typeof siteShape>;

/** Wire shapes of answers, for the API description. */
export const siteShapes = {
  site: siteShape,
  one: v.object({ site: siteShape }),
  list: shape.listOf('sites', siteShape),
};

/** `role` is the caller's; it is the same for the site and everything in it. */
export function siteToWire({ location, ...site }: SiteRecord, role: Role) {
  return {
    ...shape.filled(siteShape, site),
    version: 'V3' as const,
    authorized_role: role,
    // Clients fail on a location without a name.
    ...(location && { location: { ...location, name: location.name ?? '' } }),
  };
}
