/** What the library has, counted, and the same numbers in the documents. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseTemplate, type TemplateValue } from '#library';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { templateIds, templateText } from './library-files.ts';

const templates = templateIds.map((id) => parseTemplate(templateText(id)).template ?? assert.fail(id));

/** Registers, SunSpec points, fields of answers and codes of telegrams: what another source can confirm. */
const isReading = (value: TemplateValue): boolean =>
  ['input', 'holding', 'coil', 'discrete', 'sunspec', 'from', 'obis'].some((source) => source in value);

const isConfirmed = ({ sources, verified }: (typeof templates)[number]): boolean =>
  sources.length > 1 && verified !== 'one source';

const readingsOf = (some: typeof templates): number =>
  some.flatMap(({ values }) => Object.values(values).filter(isReading)).length;

const luaFiles = readdirSync(join(PROJECT_ROOT, 'src/library/devices'), {
  recursive: true,
  encoding: 'utf8',
});

const counts = {
  templates: templates.length,
  folders: new Set(templateIds.map((id) => id.split('/')[0])).size,
  makers: new Set(templates.map(({ maker }) => maker)).size,
  products: new Set(templates.flatMap(({ maker, products }) => products.map((one) => `${maker} ${one}`)))
    .size,
  values: templates.flatMap(({ values }) => Object.values(values).filter(({ internal }) => internal !== true))
    .length,
  'with two sources': templates.filter(({ sources }) => sources.length > 1).length,
  readings: readingsOf(templates),
  'readings confirmed by a second source': readingsOf(templates.filter(isConfirmed)),
  'blueprints in Lua': luaFiles.filter((path) => path.endsWith('.lua')).length,
};

/** The way the documents write numbers: `1 713`. */
const grouped = (count: number): string => String(count).replace(/(?<=\d)(?=(\d{3})+$)/g, ' ');

test('the counts of the library equal those in its documents', (t) => {
  for (const [name, count] of Object.entries(counts)) t.diagnostic(`${name}: ${count}`);
  const page = (path: string): string =>
    readFileSync(join(PROJECT_ROOT, path), 'utf8').replaceAll(/\s+/g, ' ');
  const { folders, makers, products, values, readings } = counts;
  const decision = page('docs/decisions/0100-device-library.md');
  for (const sentence of [
    `${counts.templates} templates in ${folders} folders name ${products} products and ${grouped(values)} values`,
    `${counts['with two sources']} name two public sources or more`,
    `${grouped(counts['readings confirmed by a second source'])} of ${grouped(readings)} registers, points, fields and codes`,
  ])
    assert.ok(decision.includes(sentence), sentence);
  assert.match(
    page('docs/device-library.md'),
    new RegExp(`knows ${counts.templates} families of .* of ${makers} makers`),
  );
  assert.ok(
    page('CHANGELOG.md').includes(
      `library of ${counts.templates} device families (${products} products of ${makers} makers)`,
    ),
  );
  assert.equal(counts['blueprints in Lua'], 0);
});
